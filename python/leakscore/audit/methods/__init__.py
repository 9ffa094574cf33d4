"""The methods of `Audit.epsilon`."""
