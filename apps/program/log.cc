#include "apps/program/log.h"

#include <iostream>
#include <optional>
#include <string>

#include "tensor/text/json_text.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// Streams that the end of the process flushes must still be there then.
struct Log {
  explicit Log(const LogSource& source)
      : was_out(std::cout.rdbuf()),
        was_err(std::cerr.rdbuf()),
        out(*was_out, source, Severity::kInfo),
        err(*was_err, source, Severity::kError) {
    std::cout.rdbuf(&out);
    std::cerr.rdbuf(&err);
  }

  std::streambuf *const was_out, *const was_err;
  JsonLines out, err;
};
Log* log = nullptr;

JsonLines* LinesOf(const std::ostream& out) { return dynamic_cast<JsonLines*>(out.rdbuf()); }

}  // namespace

void BeginLog(std::string_view format, const LogSource& source) {
  if (format == "json" && log == nullptr) log = new Log(source);
}

void EndLog() {
  if (log == nullptr) return;
  log->out.Finish();
  log->err.Finish();
  // rdbuf() would forget that a write has failed.
  const std::ios_base::iostate state = std::cout.rdstate();
  std::cout.rdbuf(log->was_out);
  std::cerr.rdbuf(log->was_err);
  std::cout.setstate(state);
  delete log;
  log = nullptr;
}

bool LogsJson(const std::ostream& out) { return LinesOf(out) != nullptr; }

void WriteLog(std::ostream& out, Severity severity, std::string_view text,
              std::span<const LogField> fields) {
  if (JsonLines* const json = LinesOf(out)) {
    json->Write(severity, text, fields);
  } else {
    out << text;
  }
  out << std::flush;
}

bool RelayLog(std::ostream& out, std::string_view line, int rank) {
  JsonLines* const json = LinesOf(out);
  if (json == nullptr) return false;
  json->Relay(line, rank);
  out << std::flush;
  return true;
}

LogField LogFieldOf(std::string_view name, int64_t value) {
  return {std::string(name), StrCat(value)};
}
LogField LogFieldOf(std::string_view name, double value) {
  return {std::string(name), JsonNumber(value)};
}
LogField LogFieldOf(std::string_view name, std::string_view value) {
  return {std::string(name), JsonText(value)};
}
LogField LogFieldOf(std::string_view name, std::span<const std::pair<std::string, double>> values) {
  return {std::string(name), JsonOf(values)};
}

std::string JsonOf(std::span<const std::pair<std::string, double>> values) {
  std::string members;
  for (const auto& [member, value] : values) {
    StrAppend(&members, members.empty() ? "" : ", ", JsonText(member), ": ", JsonNumber(value));
  }
  return StrCat("{", members, "}");
}

}  // namespace dtnn
