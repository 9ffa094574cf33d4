"""An audit that may be looked at after every round."""
