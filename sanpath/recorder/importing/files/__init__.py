"""Result files as readers get them: unpacked, decompressed, without what other programs added, and recognised."""
