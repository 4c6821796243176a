// Passes on what a rank writes, line by line, so that lines of several ranks do not mix.

#ifndef DTNN_APPS_LAUNCH_LINE_RELAY_H_
#define DTNN_APPS_LAUNCH_LINE_RELAY_H_

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

namespace dtnn {

class LineRelay {
 public:
  // Longer lines are cut.
  static constexpr size_t kMostBytes = size_t{64} << 10;

  // `prefix` goes before each line. The stream outlives this.
  LineRelay(std::string prefix, std::ostream& out) : prefix_(std::move(prefix)), out_(out) {}

  void Take(std::string_view bytes);
  // Nothing more comes: a last line that was not ended is.
  void Finish();

 private:
  const std::string prefix_;
  std::ostream& out_;
  std::string line_;  // its begin
};

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCH_LINE_RELAY_H_
