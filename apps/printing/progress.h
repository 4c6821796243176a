// The progress line of an epoch or a test:
//
//   Epoch 1/5:  42%|█████▃      | 20160/48000 [00:01<00:02, 13911.20 samples/s, cce: 0.9134411]
//
// On a terminal it is redrawn in place, at most ten times a second, in the width that the terminal
// has then, with the time that the whole run will take yet: "[00:01<00:02, run 00:14 left, ...".
// Where the width is less than the line needs, the bar shrinks first, then rate, samples, the run's
// time, times, bar and percentage go, in this order; losses and metrics stay. Elsewhere (a file, a
// pipe) only the final state is written, whole. Redrawing reuses its buffers: no allocation per
// step. Time counts until the last Advance, so that a validation pass before Finish does not dilute
// the rate.

#ifndef DTNN_APPS_PRINTING_PROGRESS_H_
#define DTNN_APPS_PRINTING_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"

namespace dtnn {

// Where progress is shown.
struct Display {
  bool live = false;    // a terminal: redraw, in lines that fit
  int columns = 110;    // there are
  bool unicode = true;  // blocks of eighths in the bar, else '#'
  int terminal = -1;    // its open file, which is asked for the columns before every drawing
};

// What is known about an open file: whether it is a terminal, and whether the locale is UTF-8.
// `relayed`: the parent process, say mpirun, reads a terminal of its own making and copies to its
// standard output, which must be one too, and whose columns count; it stays open.
Display DetectDisplay(int file_descriptor, bool relayed = false);

// The display that --progress=`choice` asks for, where `found` has been detected: "bar" redraws
// elsewhere too, "line" never does.
Display ChooseDisplay(std::string_view choice, const Display& found);

// That a line of `terminal` can fill; those of a common one where the terminal does not know.
int TerminalColumns(int terminal);

struct ProgressState {
  std::string_view description;
  int64_t done = 0;  // samples
  int64_t total = 0;
  double elapsed = 0;             // seconds
  std::string_view metrics = {};  // "cce: 0.9134411, acc: 74.20%"
  double run_left = -1;           // seconds; negative: not known
  int64_t done_before = 0;        // of `done`, by a run that this one continues: not in `elapsed`
};

// The line, without line end: 110 columns, or as many as its text and ten columns of bar need. On a
// live display it fits into the columns; where the metrics alone do not, they are cut at the end if
// `cut`, else whole.
void AppendProgress(const ProgressState& state, const Display& display, bool cut,
                    std::string& line);

// "03:07", "1:03:07".
std::string FormatDuration(double seconds);

// "Epoch  1/50"; epochs count from 1. Or with another word, as "Round".
std::string EpochDescription(int64_t epoch, int64_t epochs, std::string_view word = "Epoch");

class ProgressBar {
 public:
  using Clock = std::function<double()>;                  // seconds, never backwards
  using Metrics = absl::FunctionRef<void(std::string&)>;  // appends the text of the metrics

  // `done_before`: samples of `total` that were done before, which do not count for the rate.
  ProgressBar(std::string description, int64_t total, const Display& display, std::ostream& out,
              Clock clock = nullptr, int64_t done_before = 0);
  ~ProgressBar();  // leaves the cursor on a fresh line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // After a step over `samples`. `metrics` is called only when the line is redrawn.
  void Advance(int64_t samples, Metrics metrics);
  // What the run will take yet, in seconds; negative: not known. Shown when it is redrawn.
  void set_run_left(double seconds) { run_left_ = seconds; }
  // Writes the final state and ends the line.
  void Finish(Metrics metrics);

 private:
  void Draw(Metrics metrics, bool final);

  const std::string description_;
  Display display_;
  std::ostream& out_;
  const Clock clock_;
  const int64_t total_;
  const int64_t done_before_;
  int64_t done_;
  double start_ = 0, advanced_ = 0, drawn_ = 0, run_left_ = -1;
  bool finished_ = false;
  std::string metrics_, line_;
};

}  // namespace dtnn

#endif  // DTNN_APPS_PRINTING_PROGRESS_H_
