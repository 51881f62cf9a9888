"""What may limit a load: each module makes the claims of one kind, with the evidence for and against them."""
