// What a run says, and where: rank 0 speaks for all. Members of RunOptions are named as
// RunOptions::training.epochs; a program that has flags puts those there.

#ifndef DTNN_MODELS_RUN_OBJECTS_RUN_LOG_H_
#define DTNN_MODELS_RUN_OBJECTS_RUN_LOG_H_

#include <functional>
#include <string_view>

#include "models/run/options/run_options.h"
#include "models/run/parts/rank_options.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

// Where it goes; null: it is dropped.
struct RunSinks {
  std::function<void(std::string_view text)> print = {};  // whole lines
  std::function<void(std::string_view line)> warn = {};   // one line, without its end
};

class RunLog {
 public:
  // `options` must outlive it.
  RunLog(const RunOptions& options, int rank, int ranks, RunSinks sinks)
      : options_(options),
        rank_(rank),
        ranks_(ranks),
        of_checkpoints_(ranks > 1 && OwnCheckpoints(options)),
        sinks_(std::move(sinks)) {}

  // Results; what output.quiet keeps back; what only output.verbose adds.
  void Print(std::string_view text) {
    if (rank_ == 0 && sinks_.print && !text.empty()) sinks_.print(text);
  }
  void Log(std::string_view text) {
    if (!options_.output.quiet && !muted_) Print(text);
  }
  void LogVerbose(std::string_view text) {
    if (verbose() && !muted_) Print(text);
  }
  bool verbose() const { return options_.output.verbose != Verbosity::kNo; }
  void Warn(std::string_view line) {
    if (rank_ == 0) Write(line);
  }
  // Rank 0 warns about common checkpoints.
  void WarnOfCheckpoint(std::string_view line) { of_checkpoints_ ? WarnOfRank(line) : Warn(line); }
  // A warning about a file of this rank's own, which no other rank knows.
  void WarnOfRank(std::string_view line) {
    ranks_ == 1 ? Write(line) : Write(StrCat("rank ", rank_, ": ", line));
  }
  // Whether Log and LogVerbose say nothing, since what the run is has been said already.
  void set_muted(bool muted) { muted_ = muted; }
  // Each rank warns about all checkpoints from now on.
  void WarnForItself() { of_checkpoints_ = true; }

 private:
  void Write(std::string_view line) {
    if (sinks_.warn) sinks_.warn(OneLine(line));
  }

  const RunOptions& options_;
  const int rank_, ranks_;
  bool of_checkpoints_, muted_ = false;
  const RunSinks sinks_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OBJECTS_RUN_LOG_H_
