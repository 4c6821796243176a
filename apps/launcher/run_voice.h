// What a run says, and where: rank 0 speaks for all.

#ifndef DTNN_APPS_LAUNCHER_RUN_VOICE_H_
#define DTNN_APPS_LAUNCHER_RUN_VOICE_H_

#include <ostream>
#include <string_view>

#include "apps/flags/options.h"
#include "apps/make/rank_options.h"
#include "comm/ranks/job/exit_code.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

class RunVoice {
 public:
  // All of them must outlive it.
  RunVoice(const Options& options, int rank, int ranks, std::ostream& out, std::ostream& err)
      : options_(options),
        rank_(rank),
        ranks_(ranks),
        of_checkpoints_(ranks > 1 && OwnCheckpoints(options)),
        out_(rank == 0 ? out : silence_),
        err_(rank == 0 ? err : silence_),
        own_err_(err) {}

  std::ostream& out() { return out_; }
  // What --quiet keeps back, and what only --verbose adds.
  void Tell(std::string_view text) {
    if (!options_.output.quiet && !hushed_) out_ << text << std::flush;
  }
  void TellMore(std::string_view text) {
    if (tells_more() && !hushed_) out_ << text << std::flush;
  }
  bool tells_more() const { return options_.output.verbose != "False"; }
  void Warn(std::string_view line) {
    err_ << StrCat("benchmark: warning: ", OneLine(line), "\n") << std::flush;
  }
  // Of common checkpoints rank 0 tells.
  void WarnOfCheckpoint(std::string_view line) { of_checkpoints_ ? WarnOfOwn(line) : Warn(line); }
  // Of a file of this rank's own, of which no other rank knows.
  void WarnOfOwn(std::string_view line) {
    if (ranks_ == 1) return Warn(line);
    own_err_ << StrCat("benchmark: warning: rank ", rank_, ": ", OneLine(line), "\n") << std::flush;
  }
  // Whether what the run is has been told already.
  void set_hushed(bool hushed) { hushed_ = hushed; }
  // Of all checkpoints each rank tells from now on.
  void SpeakForItself() { of_checkpoints_ = true; }

 private:
  const Options& options_;
  const int rank_, ranks_;
  bool of_checkpoints_, hushed_ = false;
  std::ostream silence_{nullptr};
  std::ostream &out_, &err_, &own_err_;  // the first two: of rank 0
};

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCHER_RUN_VOICE_H_
