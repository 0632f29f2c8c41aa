"""The pages: thin views that call services and selectors and render one template each."""
