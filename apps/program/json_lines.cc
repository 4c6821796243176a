#include "apps/program/json_lines.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "tensor/text/json_text.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr std::string_view kStars = "**** ", kWarning = "warning: ";

std::string_view Name(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "INFO";
    case Severity::kWarning:
      return "WARNING";
    case Severity::kError:
      return "ERROR";
  }
  return "";
}

// In UTC, as RFC 3339 writes it, to the microsecond.
std::string Now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const std::time_t seconds = microseconds / 1'000'000;
  std::tm time = {};
  gmtime_r(&seconds, &time);
  return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", time.tm_year + 1900,
                         time.tm_mon + 1, time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec,
                         microseconds % 1'000'000);
}

bool Drop(std::string_view start, std::string_view& text) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

bool IsObject(std::string_view line) {
  return line.starts_with('{') && nlohmann::json::accept(line.begin(), line.end());
}

}  // namespace

std::string JsonLines::Format(Severity severity, std::string_view message, std::optional<int> rank,
                              std::span<const LogField> fields) const {
  std::string line = StrCat("{\"time\": \"", Now(), "\", \"severity\": \"", Name(severity),
                            "\", \"program\": ", JsonText(source_.program));
  if (rank) StrAppend(&line, ", \"rank\": ", *rank);
  if (!source_.client.empty()) StrAppend(&line, ", \"client\": ", JsonText(source_.client));
  StrAppend(&line, ", \"message\": ", JsonText(message));
  for (const LogField& field : fields) {
    StrAppend(&line, ", ", JsonText(field.name), ": ", field.json);
  }
  return line + "}\n";
}

void JsonLines::WriteLine(const std::string& line) {
  good_ = good_ &&
          target_.sputn(line.data(), std::streamsize(line.size())) == std::streamsize(line.size());
}

void JsonLines::EndLine(const std::string& line) {
  std::string_view text = line;
  Severity severity = severity_;
  if (Drop(kStars, text)) severity = Severity::kInfo;
  if (Drop(StrCat(source_.program, ": "), text) && Drop(kWarning, text)) {
    severity = Severity::kWarning;
  }
  if (!text.empty()) WriteLine(Format(severity, text, source_.rank, {}));
}

void JsonLines::Take(std::string_view bytes) {
  std::string& line = begun_[std::this_thread::get_id()];
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const size_t count = std::min({end, bytes.size(), kMostBytes - line.size()});
    line += bytes.substr(0, count);
    bytes.remove_prefix(count);
    const bool ended = bytes.starts_with('\n');
    if (ended) bytes.remove_prefix(1);
    if (!ended && line.size() < kMostBytes) break;
    EndLine(line);
    line.clear();
  }
  if (line.empty()) begun_.erase(std::this_thread::get_id());
}

void JsonLines::Write(Severity severity, std::string_view text, std::span<const LogField> fields) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  Drop(kStars, text);
  const std::lock_guard lock(mutex_);
  WriteLine(Format(severity, text, source_.rank, fields));
}

void JsonLines::Relay(std::string_view line, int rank) {
  const std::lock_guard lock(mutex_);
  if (line.empty()) return;
  const bool warns = line.find(StrCat(": ", kWarning)) != line.npos;
  const Severity severity = warns ? Severity::kWarning : severity_;
  WriteLine(IsObject(line) ? StrCat(line, "\n") : Format(severity, line, rank, {}));
}

void JsonLines::Finish() {
  const std::lock_guard lock(mutex_);
  for (const auto& [writer, line] : begun_) EndLine(line);
  begun_.clear();
  if (target_.pubsync() != 0) good_ = false;
}

JsonLines::int_type JsonLines::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char byte = traits_type::to_char_type(c);
  return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
}

std::streamsize JsonLines::xsputn(const char* bytes, std::streamsize size) {
  const std::lock_guard lock(mutex_);
  Take({bytes, size_t(size)});
  return good_ ? size : 0;
}

int JsonLines::sync() {
  const std::lock_guard lock(mutex_);
  return good_ && target_.pubsync() == 0 ? 0 : -1;
}

}  // namespace dtnn
