#include "apps/testing/terminal.h"

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace dtnn::testing {

Terminal::Terminal(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), program);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const winsize size = {.ws_row = 50, .ws_col = 200, .ws_xpixel = 0, .ws_ypixel = 0};
  pid_ = forkpty(&terminal_, nullptr, nullptr, &size);
  if (pid_ == 0) {
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  if (pid_ < 0) {
    why_not_ = std::string("no pseudo-terminal can be had here: ") + std::strerror(errno);
  }
}

Terminal::~Terminal() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (terminal_ >= 0) close(terminal_);
}

void Terminal::Type(std::string_view keys) {
  while (!keys.empty()) {
    const ssize_t written = write(terminal_, keys.data(), keys.size());
    if (written <= 0) return;
    keys.remove_prefix(size_t(written));
  }
}

bool Terminal::ReadUntil(std::string_view text) {
  for (;;) {
    const size_t found = text_.find(text, seen_);
    if (found != text_.npos) {
      seen_ = found + text.size();
      return true;
    }
    char buffer[4096];
    const ssize_t count = read(terminal_, buffer, sizeof(buffer));
    if (count <= 0) return false;
    text_.append(buffer, size_t(count));
  }
}

}  // namespace dtnn::testing
