// Programs run by tests, as a user runs them.

#ifndef DTNN_APPS_TESTING_PROCESS_H_
#define DTNN_APPS_TESTING_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtnn::testing {

struct Outcome {
  int exit_code = -1;      // 128 + n after signal n
  std::string text;        // standard output and standard error
  int64_t peak_bytes = 0;  // of memory that it had at a time; of a Process
};

// Runs `program` with `arguments` in a shell. Errors go into the text too unless `arguments`
// redirect them.
Outcome Launch(const std::string& program, const std::string& arguments);

// A program that runs beside the test.
class Process {
 public:
  Process(const std::string& program, const std::vector<std::string>& arguments);
  ~Process();  // kills it where it still runs
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Reads what the program writes until that holds `text`; false where it ends without.
  bool ReadUntil(std::string_view text);
  // What it has written and this has read.
  const std::string& text() const { return text_; }
  void Signal(int number);
  pid_t pid() const { return pid_; }
  // Waits for its end.
  Outcome Wait();

 private:
  bool ReadMore();

  pid_t pid_ = -1;
  int output_ = -1;  // the pipe's end
  std::string text_;
};

// A folder whose new files a test waits for.
class WatchedFolder {
 public:
  explicit WatchedFolder(const std::string& path);
  ~WatchedFolder();
  WatchedFolder(const WatchedFolder&) = delete;
  WatchedFolder& operator=(const WatchedFolder&) = delete;

  // Until a file has been put into the folder, under its final name, since the last call.
  void AwaitFile();

 private:
  int watch_ = -1;
};

}  // namespace dtnn::testing

#endif  // DTNN_APPS_TESTING_PROCESS_H_
