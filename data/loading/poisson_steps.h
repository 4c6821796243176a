// Steps that take each sample independently, with the same probability (Poisson sampling): what
// bounds of differential privacy for training assume. Step sizes are random; a step
// may have no samples, and a sample may come in several steps of an epoch or in none.
//
// Where a bound is to hold, nobody may be able to guess the draws, nor may what a sample becomes
// depend on which others are drawn: random words come from the caller, also one for each sample
// that is taken, for random changes to it. A step of more samples than the most is drawn again,
// which happens with a probability of less than 2^-70 by Chernoff's bound.

#ifndef DTNN_DATA_LOADING_POISSON_STEPS_H_
#define DTNN_DATA_LOADING_POISSON_STEPS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace dtnn {

// Fills the words with random bits. Copies share a generator, or give the same words again.
using RandomWords = std::function<void(std::span<uint64_t>)>;

class PoissonSteps {
 public:
  // `samples`: at least 1; steps have `mean` of them on average.
  PoissonSteps(int64_t samples, int64_t mean, RandomWords random);

  // Draws `steps` steps. Allocates where more samples are drawn than in any call before.
  void Draw(int64_t steps);
  // The samples of a drawn step, ascending, from 0.
  std::span<const int64_t> Step(int64_t step) const;
  // The step's first place among the samples of all steps.
  int64_t Begin(int64_t step) const { return begins_[size_t(step)]; }
  const std::vector<int64_t>& drawn() const { return drawn_; }
  // A random number for each of these places, below 2^46.
  const std::vector<int64_t>& keys() const { return keys_; }

  // The probability with which a step takes a sample.
  double probability() const { return probability_; }
  // Samples of a step.
  int64_t most() const { return most_; }

 private:
  void DrawStep();
  int64_t Gap();
  uint64_t Word();

  const int64_t samples_, most_;
  const double probability_;
  RandomWords random_;
  std::vector<uint64_t> words_;  // drawn ahead
  size_t next_word_ = 0;
  std::vector<int64_t> drawn_, keys_, begins_ = {0};
};

}  // namespace dtnn

#endif  // DTNN_DATA_LOADING_POISSON_STEPS_H_
