// Passes on what a rank writes, line by line, so that lines of several ranks do not mix.

#ifndef DTNN_APPS_LAUNCH_LINE_RELAY_H_
#define DTNN_APPS_LAUNCH_LINE_RELAY_H_

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace dtnn {

class LineRelay {
 public:
  // Longer lines are cut.
  static constexpr size_t kMostBytes = size_t{64} << 10;

  // `prefix` goes before each line, but where the stream is lines of JSON (apps/program/log.h): an
  // object of the rank's own stays as it is, other lines become the message of one that names it.
  // The stream outlives this.
  LineRelay(std::string prefix, std::ostream& out, int rank = 0)
      : prefix_(std::move(prefix)), out_(out), rank_(rank) {}

  void Take(std::string_view bytes);
  // Nothing more comes: a last line that was not ended is.
  void Finish();

 private:
  const std::string prefix_;
  std::ostream& out_;
  const int rank_;
  std::string line_;  // its begin
};

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCH_LINE_RELAY_H_
