#include "apps/printing/progress.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "tensor/stopwatch.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr int kUsualLine = 110;
constexpr int kCommonTerminal = 80;
// Widths of the bar: where nothing limits the line, and where the terminal does.
constexpr int kNarrowestBar = 10, kSmallestBar = 4;
constexpr double kSecondsBetweenDraws = 0.1;

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

// What a line holds beside description and metrics.
struct Parts {
  bool percentage, bar, times, run_left, samples, rate;
};

// From the widest to the narrowest.
constexpr Parts kLayouts[] = {
    {.percentage = true,
     .bar = true,
     .times = true,
     .run_left = true,
     .samples = true,
     .rate = true},
    {.percentage = true, .bar = true, .times = true, .run_left = true, .samples = true, .rate = {}},
    {.percentage = true, .bar = true, .times = true, .run_left = true, .samples = {}, .rate = {}},
    {.percentage = true, .bar = true, .times = true, .run_left = {}, .samples = {}, .rate = {}},
    {.percentage = true, .bar = true, .times = {}, .run_left = {}, .samples = {}, .rate = {}},
    {.percentage = true, .bar = {}, .times = {}, .run_left = {}, .samples = {}, .rate = {}},
    {.percentage = {}, .bar = {}, .times = {}, .run_left = {}, .samples = {}, .rate = {}},
};

// "500/1000 [00:02<00:02, 250.00 samples/s, cce: 0.5000000]", or what is left of that.
void AppendNumbers(const ProgressState& state, const Parts& parts, std::string& out) {
  if (parts.samples) {
    AppendFormat(out, "%lld/%lld ", static_cast<long long>(state.done),
                 static_cast<long long>(state.total));
  }
  if (parts.percentage) out += '[';
  const size_t begin = out.size();
  const int64_t done = state.done - state.done_before;
  const double rate = done > 0 && state.elapsed > 0 ? double(done) / state.elapsed : 0;
  if (parts.times) {
    AppendDuration(state.elapsed, out);
    out += '<';
    if (rate > 0) {
      AppendDuration(std::ceil(std::max<int64_t>(state.total - state.done, 0) / rate), out);
    } else {
      out += '?';
    }
  }
  if (parts.run_left && state.run_left >= 0) {
    out += ", run ";
    AppendDuration(std::ceil(state.run_left), out);
    out += " left";
  }
  if (parts.rate && rate > 0) AppendFormat(out, ", %.2f samples/s", rate);
  if (parts.rate && rate <= 0) out += ", ? samples/s";
  if (!state.metrics.empty() && out.size() > begin) out += ", ";
  out += state.metrics;
  if (parts.percentage) out += ']';
}

double Fraction(const ProgressState& state) {
  return state.total > 0 ? std::clamp(double(state.done) / double(state.total), 0.0, 1.0) : 1.0;
}

// The line without its bar, which belongs before the byte that is returned.
size_t AppendText(const ProgressState& state, const Parts& parts, std::string& line) {
  line += state.description;
  line += ": ";
  if (parts.percentage) AppendFormat(line, "%3d%%", static_cast<int>(Fraction(state) * 100));
  if (parts.bar) line += '|';
  const size_t bar = line.size();
  if (parts.bar) line += '|';
  if (parts.percentage) line += ' ';
  AppendNumbers(state, parts, line);
  return bar;
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

// The terminal that the parent process writes to; -1: it writes to none.
int OpenTerminalOfParent() {
  const std::string path = "/proc/" + std::to_string(getppid()) + "/fd/1";
  const int file = open(path.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 || isatty(file)) return file;
  close(file);
  return -1;
}

}  // namespace

int TerminalColumns(int terminal) {
  winsize size = {};
  const bool known = ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  // A character in the last column would wrap on some terminals.
  return std::max((known ? size.ws_col : kCommonTerminal) - 1, 1);
}

Display DetectDisplay(int file_descriptor, bool relayed) {
  Display display = {.unicode = LocaleIsUtf8()};
  const char* term = std::getenv("TERM");
  if (!isatty(file_descriptor) || !term || std::string_view(term) == "dumb") return display;
  display.terminal = relayed ? OpenTerminalOfParent() : file_descriptor;
  if (display.terminal < 0) return display;
  display.live = true;
  return display;
}

Display ChooseDisplay(std::string_view choice, const Display& found) {
  if (choice == "line") return {.unicode = found.unicode};
  if (choice != "bar" || found.live) return found;
  return {.live = true, .columns = kUsualLine, .unicode = found.unicode};
}

void AppendProgress(const ProgressState& state, const Display& display, bool cut,
                    std::string& line) {
  const size_t begin = line.size();
  size_t bar = begin;
  int columns = 0;  // of the text
  const Parts* parts = kLayouts;
  for (;; ++parts) {
    line.resize(begin);
    bar = AppendText(state, *parts, line);
    columns = Columns(std::string_view(line).substr(begin));
    const int needed = columns + (parts->bar ? kSmallestBar : 0);
    if (!display.live || needed <= display.columns || parts + 1 == std::end(kLayouts)) break;
  }
  if (parts->bar) {
    // The bar takes the columns that the text leaves. It is appended after the text, then rotated
    // to its place.
    const int wanted = std::max(kUsualLine - columns, kNarrowestBar);
    const size_t end = line.size();
    const int room =
        std::min(std::max(display.columns - columns, display.live ? 0 : kNarrowestBar), wanted);
    AppendBar(Fraction(state), room, display.unicode, line);
    std::rotate(line.begin() + bar, line.begin() + end, line.end());
  }
  if (display.live && cut) Truncate(line, begin, display.columns);
}

std::string FormatDuration(double seconds) {
  std::string text;
  AppendDuration(seconds, text);
  return text;
}

std::string EpochDescription(int64_t epoch, int64_t epochs, std::string_view word) {
  const std::string last = std::to_string(epochs), number = std::to_string(epoch);
  const size_t blanks = last.size() - std::min(last.size(), number.size());
  return StrCat(word, " ", std::string(blanks, ' '), number, "/", last);
}

ProgressBar::ProgressBar(std::string description, int64_t total, const Display& display,
                         std::ostream& out, Clock clock, int64_t done_before)
    : description_(std::move(description)),
      display_(display),
      out_(out),
      clock_(clock ? std::move(clock) : [watch = Stopwatch()] { return watch.seconds(); }),
      total_(total),
      done_before_(done_before),
      done_(done_before) {
  metrics_.reserve(512);
  line_.reserve(1024);
  start_ = advanced_ = drawn_ = clock_();
  if (display_.live) Draw([](std::string&) {}, /*final=*/false);
}

ProgressBar::~ProgressBar() {
  if (display_.live && !finished_) out_ << std::endl;
}

void ProgressBar::Advance(int64_t samples, Metrics metrics) {
  done_ += samples;
  advanced_ = clock_();
  if (!display_.live || advanced_ - drawn_ < kSecondsBetweenDraws) return;
  drawn_ = advanced_;
  Draw(metrics, /*final=*/false);
}

void ProgressBar::Finish(Metrics metrics) {
  if (finished_) return;
  finished_ = true;
  Draw(metrics, /*final=*/true);
  out_ << std::endl;
}

void ProgressBar::Draw(Metrics metrics, bool final) {
  if (display_.terminal >= 0) display_.columns = TerminalColumns(display_.terminal);
  metrics_.clear();
  metrics(metrics_);
  line_.clear();
  if (display_.live) line_ += '\r';
  AppendProgress({.description = description_,
                  .done = done_,
                  .total = total_,
                  .elapsed = advanced_ - start_,
                  .metrics = metrics_,
                  .run_left = final ? -1 : run_left_,
                  .done_before = done_before_},
                 display_, /*cut=*/!final, line_);
  if (display_.live) line_ += "\x1b[K";  // what a longer line left there
  out_ << line_ << std::flush;
}

}  // namespace dtnn
