// Finds out by timing which of several ways to compute the same is the fastest here, and remembers
// it. It knows nothing of what it times: a candidate is a name and a call.
//
// Calls are interleaved: a round calls every candidate once, so that a slow moment of the machine
// meets all of them. There are four rounds, of which the first warms up and is not counted. After
// each of the others, candidates whose median is more than 1.25 times the best are dropped; the
// smallest median wins, and the first of equals. So a key costs at most four calls of each
// candidate, once. (Interleaving and dropping as in gemma.cpp's tuner of matrix products.)
//
// What is decided for a key stays. Not for several threads at once.

#ifndef DTNN_KERNELS_BEST_OF_BEST_OF_H_
#define DTNN_KERNELS_BEST_OF_BEST_OF_H_

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/best_of/decisions.h"

namespace dtnn {

struct BestOfCandidate {
  std::string name;
  std::function<absl::Status()> call;
  // Does the same and answers what it took, where something else knows that better than the tuner's
  // clock, as a GPU does; empty: `call` is timed.
  std::function<absl::StatusOr<double>()> timed_call = {};
};

// Seconds since any moment.
using BestOfClock = std::function<double()>;
// That of the system, which never goes back.
double SteadySeconds();

// Times the candidates, of which there is at least one; one alone is not called. Times that are
// negative or not finite do not count; a candidate without any other is chosen only where all are
// so, and then the first. The error of a call ends it.
absl::StatusOr<Decision> FindFastest(std::span<const BestOfCandidate> candidates,
                                     const BestOfClock& clock = SteadySeconds);

class BestOf {
 public:
  struct Options {
    Decisions known = {};  // of an earlier run
    BestOfClock clock = SteadySeconds;
    // What to call candidates, in decisions and lines, by the names that an operation gives them.
    // Those that are not here keep theirs.
    std::map<std::string, std::string, std::less<>> names = {};
    // Told, as a line, what was left out of a comparison and why.
    std::function<void(std::string_view)> warn = [](std::string_view) {};
  };
  using MakeCandidates = absl::FunctionRef<absl::StatusOr<std::vector<BestOfCandidate>>()>;

  BestOf() : BestOf(Options{}) {}
  explicit BestOf(Options options) : options_(std::move(options)) {}

  // The name of the fastest candidate: as decided, or else by timing what `make` returns, the one
  // that would run without a tuner first. Errors are those of `make` and of the calls, and decide
  // nothing.
  absl::StatusOr<std::string> Choose(const BestOfKey& key, MakeCandidates make);
  void Warn(std::string_view line) const { options_.warn(line); }
  std::string NameOf(std::string_view candidate) const;

  const Decisions& decisions() const { return options_.known; }
  // Takes over all decisions of another process, those of processors as if they had been made here,
  // whatever its machine and threads, and also where this one has decided otherwise: before
  // anything relies on it.
  void Adopt(const Decisions& others);

  // How often each key was asked for.
  const std::map<BestOfKey, int64_t>& uses() const { return uses_; }
  // Keys that were decided by timing, not known before.
  int64_t timed() const { return timed_; }

 private:
  Options options_;
  std::map<BestOfKey, int64_t> uses_;
  int64_t timed_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_KERNELS_BEST_OF_BEST_OF_H_
