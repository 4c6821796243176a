// What a program says, as --log-format wants it: text for people, or an object of JSON per line for
// programs that collect logs (json_lines.h). Whatever is written to the standard streams is logged;
// WriteLog tells more of a line.

#ifndef DTNN_APPS_PROGRAM_LOG_H_
#define DTNN_APPS_PROGRAM_LOG_H_

#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "apps/program/json_lines.h"

namespace dtnn {

// `format`: text, or json: from now on until EndLog, std::cout and std::cerr are lines of JSON.
// Once, before other threads write.
void BeginLog(std::string_view format, const LogSource& source);
// The streams are again what they were. RunProgram calls it.
void EndLog();

// Whether a stream is lines of JSON.
bool LogsJson(const std::ostream& out);

// `text`, which has its end of line: as it is, or as an object with these fields.
void WriteLog(std::ostream& out, Severity severity, std::string_view text,
              std::span<const LogField> fields = {});

// A line of a rank that this program has started, without its end: where the stream is lines of
// JSON, JsonLines::Relay; false, and nothing is written, elsewhere.
bool RelayLog(std::ostream& out, std::string_view line, int rank);

// Values of fields.
LogField LogFieldOf(std::string_view name, int64_t value);
LogField LogFieldOf(std::string_view name, double value);
LogField LogFieldOf(std::string_view name, std::string_view value);
LogField LogFieldOf(std::string_view name, std::span<const std::pair<std::string, double>> values);

// An object of JSON: {"loss": 0.25, ...}.
std::string JsonOf(std::span<const std::pair<std::string, double>> values);

}  // namespace dtnn

#endif  // DTNN_APPS_PROGRAM_LOG_H_
