/* json.h - reports for programs, through jansson. */
#ifndef SH_CLI_JSON_H
#define SH_CLI_JSON_H

#include <jansson.h>

/* JSON has no NaN and Inf: they are the strings "nan", "inf", "-inf". */
json_t *cli_json_number(double number);
/* The findings of all modes. */
json_t *cli_json_findings(void);
/* Writes it and ends it; "-" is stdout. Returns an exit code. */
int cli_json_write(const char *command, const char *path, json_t *report);

#endif
