"""What a diagnosis says: the output contract. It holds data and computes nothing."""
