"""The lab: experiments as checked YAML, the runner, the run store and the engines."""
