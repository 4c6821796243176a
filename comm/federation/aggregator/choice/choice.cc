#include "comm/federation/aggregator/choice/choice.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "comm/secrets/crypto/chacha20_stream.h"
#include "tensor/status_macros.h"

namespace dtnn::federation {
namespace {

// A client that was lost so often in a round is asked again only where there are too few others.
constexpr int kManyLosses = 3;

// 0 .. n - 1, each with the same probability but for n / 2^64.
size_t Below(ChaCha20Stream& random, size_t n) {
  uint64_t bits = 0;
  random.FillWords(std::span(&bits, 1));
  return size_t((static_cast<unsigned __int128>(bits) * n) >> 64);
}

}  // namespace

absl::StatusOr<Choice> ChooseClients(std::vector<Candidate> there, const ChoiceOptions& options) {
  if (there.size() < options.min_clients) return Choice();
  std::ranges::sort(there, {}, &Candidate::name);
  const auto losses = [](const Candidate& candidate) {
    return candidate.losses < kManyLosses ? 0 : candidate.losses;
  };
  std::ranges::stable_sort(there, {}, losses);
  const auto steady = size_t(std::ranges::count(there, 0, losses));
  there.resize(std::max(steady, options.min_clients));
  const auto share = size_t(std::ceil(options.fraction * double(there.size()) - 1e-9));
  const size_t wanted = std::clamp<size_t>(share, options.min_clients, options.most);
  // The first of a shuffled list.
  DTNN_ASSIGN_OR_RETURN(ChaCha20Stream random,
                        ChaCha20Stream::Create(options.seed.bytes(), options.attempt));
  for (size_t i = 0; i + 1 < there.size() && i < wanted; ++i) {
    std::swap(there[i], there[i + Below(random, there.size() - i)]);
  }
  Choice choice = {.sampling = std::min(1.0, double(wanted) / double(there.size()))};
  there.resize(std::min(there.size(), wanted));
  std::ranges::sort(there, {}, &Candidate::name);
  for (const Candidate& candidate : there) {
    choice.ids.push_back(candidate.id);
    choice.reluctant |= losses(candidate) > 0;
  }
  return choice;
}

}  // namespace dtnn::federation
