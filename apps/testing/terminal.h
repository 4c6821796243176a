// A program at a terminal, at which a test types.

#ifndef DTNN_APPS_TESTING_TERMINAL_H_
#define DTNN_APPS_TESTING_TERMINAL_H_

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace dtnn::testing {

class Terminal {
 public:
  // `program`: its path; 200 columns.
  Terminal(const std::string& program, const std::vector<std::string>& arguments);
  ~Terminal();  // kills it where it still runs
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Empty where the program runs; else why there is no terminal here: in a chroot without /dev/pts
  // there are none, and a test says so and is skipped.
  const std::string& why_not() const { return why_not_; }

  void Type(std::string_view keys);
  // Reads what appears, echoes too, until that holds `text` after where the last call ended; false
  // where the program ends without.
  bool ReadUntil(std::string_view text);
  const std::string& text() const { return text_; }

 private:
  pid_t pid_ = -1;
  int terminal_ = -1;
  std::string text_, why_not_;
  size_t seen_ = 0;
};

}  // namespace dtnn::testing

#endif  // DTNN_APPS_TESTING_TERMINAL_H_
