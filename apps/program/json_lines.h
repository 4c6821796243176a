// A stream buffer that makes an object of JSON of each line that is written to it, for programs
// that collect logs:
//
//   {"time": "2026-03-01T09:30:00.123456Z", "severity": "WARNING", "program": "benchmark",
//    "rank": 1, "message": "..."}
//
// all in one line. Empty lines are dropped, longer ones than kMostBytes cut in two. A program's own
// marks ("**** ", "benchmark: warning: ") are left out, and become the severity. Control characters
// and broken UTF-8 are escaped. Lines of several threads do not mix, in however many pieces each is
// written. What is written to the file below the stream itself, as libraries do, stays as it is.

#ifndef DTNN_APPS_PROGRAM_JSON_LINES_H_
#define DTNN_APPS_PROGRAM_JSON_LINES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <streambuf>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace dtnn {

enum class Severity : uint8_t { kInfo, kWarning, kError };

// The writer of lines.
struct LogSource {
  std::string program = {};
  std::optional<int> rank = {};  // of one of several
  std::string client = {};       // of a federation
};

// One of an object's members: a name of ours, and a value that is JSON already.
struct LogField {
  std::string name = {}, json = {};
};

class JsonLines : public std::streambuf {
 public:
  // The most of a line: as an object it has less than 64 KiB, even where all of it is escaped.
  static constexpr size_t kMostBytes = size_t{8} << 10;

  // `target` gets whole lines, and outlives it. `severity`: of lines without a mark.
  JsonLines(std::streambuf& target, LogSource source, Severity severity)
      : target_(target), source_(std::move(source)), severity_(severity) {}

  // A line that its writer knows more of.
  void Write(Severity severity, std::string_view text, std::span<const LogField> fields = {});
  // A line of a rank that this program has started: whole where it is an object already, else as
  // the message of one.
  void Relay(std::string_view line, int rank);
  // A last line that was not ended is.
  void Finish();

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* bytes, std::streamsize size) override;
  int sync() override;

 private:
  void Take(std::string_view bytes);
  void WriteLine(const std::string& line);
  void EndLine(const std::string& line);
  std::string Format(Severity severity, std::string_view message, std::optional<int> rank,
                     std::span<const LogField> fields) const;

  std::mutex mutex_;
  std::streambuf& target_;
  const LogSource source_;
  const Severity severity_;
  std::map<std::thread::id, std::string> begun_;  // lines, by their writers
  bool good_ = true;                              // of the target
};

}  // namespace dtnn

#endif  // DTNN_APPS_PROGRAM_JSON_LINES_H_
