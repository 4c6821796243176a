#include "apps/progress.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace dtnn {
namespace {

constexpr int kUsualLine = 110;
constexpr int kNarrowestBar = 10;
constexpr double kSecondsBetweenDraws = 0.1;

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <typename... Args>
void AppendFormat(std::string& out, const char* format, Args... args) {
  char text[96];
  const int size = std::snprintf(text, sizeof(text), format, args...);
  out.append(text, std::clamp<int>(size, 0, sizeof(text) - 1));
}

void AppendDuration(double seconds, std::string& out) {
  const int64_t s = static_cast<int64_t>(std::clamp(seconds, 0.0, 1e15));
  if (s < 3600) return AppendFormat(out, "%02d:%02d", int(s / 60), int(s % 60));
  AppendFormat(out, "%lld:%02d:%02d", static_cast<long long>(s / 3600), int(s / 60 % 60),
               int(s % 60));
}

// Characters that a terminal shows: bytes that do not continue a UTF-8 sequence.
int Columns(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; });
}

// The first `columns` characters.
void Truncate(std::string& text, size_t begin, int columns) {
  size_t end = begin;
  for (; end < text.size(); ++end) {
    if ((text[end] & 0xc0) != 0x80 && columns-- == 0) break;
  }
  text.resize(end);
}

void AppendBar(double fraction, int columns, bool unicode, std::string& out) {
  constexpr std::string_view kEighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const int eighths = static_cast<int>(fraction * columns * 8);
  for (int column = 0; column < columns; ++column) {
    const int filled = std::clamp(eighths - 8 * column, 0, 8);
    out += unicode ? kEighths[filled] : (filled == 8 ? "#" : " ");
  }
}

// What stands right of the bar.
void AppendNumbers(const ProgressState& state, std::string& out) {
  AppendFormat(out, " %lld/%lld [", static_cast<long long>(state.done),
               static_cast<long long>(state.total));
  AppendDuration(state.elapsed, out);
  if (state.done > 0 && state.elapsed > 0) {
    const double rate = state.done / state.elapsed;
    out += '<';
    AppendDuration(std::ceil(std::max<int64_t>(state.total - state.done, 0) / rate), out);
    AppendFormat(out, ", %.2f samples/s", rate);
  } else {
    out += "<?, ? samples/s";
  }
  if (!state.metrics.empty()) out += ", ";
  out += state.metrics;
  out += ']';
}

bool LocaleIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (!value || !*value) continue;
    const std::string_view locale(value);
    return locale.find("UTF-8") != locale.npos || locale.find("utf8") != locale.npos;
  }
  return false;
}

bool ParentShowsTerminal() {
  const std::string path = "/proc/" + std::to_string(getppid()) + "/fd/1";
  const int file = open(path.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  const bool terminal = isatty(file);
  if (file >= 0) close(file);
  return terminal;
}

}  // namespace

Display DetectDisplay(int file_descriptor, bool relayed) {
  Display display;
  if (relayed && !ParentShowsTerminal()) return display;
  const char* term = std::getenv("TERM");
  if (!isatty(file_descriptor) || !term || std::string_view(term) == "dumb") return display;
  display.live = true;
  display.unicode = LocaleIsUtf8();
  winsize size = {};
  if (ioctl(file_descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) {
    // A character in the last column would wrap on some terminals.
    display.columns = size.ws_col - 1;
  }
  return display;
}

void AppendProgress(const ProgressState& state, const Display& display, std::string& line) {
  const size_t begin = line.size();
  const double fraction =
      state.total > 0 ? std::clamp(double(state.done) / double(state.total), 0.0, 1.0) : 1.0;
  line += state.description;
  AppendFormat(line, ": %3d%%|", static_cast<int>(fraction * 100));
  const size_t bar = line.size();
  line += '|';
  AppendNumbers(state, line);

  // The bar takes the columns that the text leaves. It is appended behind the text, then rotated
  // to its place.
  const int text_columns = Columns(std::string_view(line).substr(begin));
  const int wanted = std::max(kUsualLine - text_columns, kNarrowestBar);
  const size_t text_end = line.size();
  const int room =
      std::clamp(display.columns - text_columns, display.live ? 0 : kNarrowestBar, wanted);
  AppendBar(fraction, room, display.unicode, line);
  std::rotate(line.begin() + bar, line.begin() + text_end, line.end());
  if (display.live) Truncate(line, begin, display.columns);
}

std::string FormatDuration(double seconds) {
  std::string text;
  AppendDuration(seconds, text);
  return text;
}

std::string EpochDescription(int64_t epoch, int64_t epochs) {
  const std::string last = std::to_string(epochs), number = std::to_string(epoch);
  const size_t blanks = last.size() - std::min(last.size(), number.size());
  return "Epoch " + std::string(blanks, ' ') + number + "/" + last;
}

ProgressBar::ProgressBar(std::string description, int64_t total, const Display& display,
                         std::ostream& out, Clock clock)
    : description_(std::move(description)),
      display_(display),
      out_(out),
      clock_(clock ? std::move(clock) : SteadySeconds),
      total_(total) {
  metrics_.reserve(512);
  line_.reserve(1024);
  start_ = advanced_ = drawn_ = clock_();
  if (display_.live) Draw([](std::string&) {}, display_);
}

ProgressBar::~ProgressBar() {
  if (display_.live && !finished_) out_ << std::endl;
}

void ProgressBar::Advance(int64_t samples, Metrics metrics) {
  done_ += samples;
  advanced_ = clock_();
  if (!display_.live || advanced_ - drawn_ < kSecondsBetweenDraws) return;
  drawn_ = advanced_;
  Draw(metrics, display_);
}

void ProgressBar::Finish(Metrics metrics) {
  if (finished_) return;
  finished_ = true;
  Display final = display_;
  final.live = false;
  Draw(metrics, final);
  out_ << std::endl;
}

void ProgressBar::Draw(Metrics metrics, const Display& display) {
  metrics_.clear();
  metrics(metrics_);
  line_.clear();
  if (display_.live) line_ += '\r';
  AppendProgress({description_, done_, total_, advanced_ - start_, metrics_}, display, line_);
  if (display_.live) line_ += "\x1b[K";  // what a longer line left there
  out_ << line_ << std::flush;
}

}  // namespace dtnn
