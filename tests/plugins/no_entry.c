/* A shared object like any other. */
int no_entry(void);
int no_entry(void) { return 1; }
