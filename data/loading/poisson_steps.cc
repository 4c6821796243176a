#include "data/loading/poisson_steps.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dtnn {
namespace {

constexpr size_t kWordsAhead = 1024;

// mean + t with t = 10 sqrt(mean) + 40: exp(-t^2 / (2 (mean + t / 3))) < e^-50.
int64_t MostOf(int64_t samples, int64_t mean) {
  return std::min(samples, mean + int64_t(10 * std::sqrt(double(mean))) + 41);
}

}  // namespace

PoissonSteps::PoissonSteps(int64_t samples, int64_t mean, RandomWords random)
    : samples_(samples),
      most_(MostOf(samples, mean)),
      probability_(std::min(1.0, double(mean) / double(samples))),
      random_(std::move(random)) {}

void PoissonSteps::Draw(int64_t steps) {
  drawn_.clear();
  begins_.assign(1, 0);
  for (int64_t step = 0; step < steps; ++step) {
    const size_t begin = drawn_.size();
    do {
      drawn_.resize(begin);
      DrawStep();
    } while (int64_t(drawn_.size() - begin) > most_);
    begins_.push_back(int64_t(drawn_.size()));
  }
  keys_.clear();
  while (keys_.size() < drawn_.size()) keys_.push_back(int64_t(Word() >> 18));
}

// By the gaps between samples, which are geometrically distributed: a random word per sample that
// is taken, instead of one per sample.
void PoissonSteps::DrawStep() {
  if (probability_ >= 1) {
    for (int64_t i = 0; i < samples_; ++i) drawn_.push_back(i);
    return;
  }
  for (int64_t i = Gap(); i < samples_; i += 1 + Gap()) drawn_.push_back(i);
}

uint64_t PoissonSteps::Word() {
  if (next_word_ == words_.size()) {
    words_.resize(kWordsAhead);
    random_(words_);
    next_word_ = 0;
  }
  return words_[next_word_++];
}

// Samples that are not taken before the next one that is; at most all.
int64_t PoissonSteps::Gap() {
  const double uniform = (double(Word() >> 11) + 1) * 0x1p-53;  // above 0, to 1
  const double gap = std::floor(std::log(uniform) / std::log1p(-probability_));
  return gap < double(samples_) ? int64_t(gap) : samples_;
}

std::span<const int64_t> PoissonSteps::Step(int64_t step) const {
  return std::span(drawn_).subspan(size_t(Begin(step)), size_t(Begin(step + 1) - Begin(step)));
}

}  // namespace dtnn
