#include "comm/federation/simulation/simulation_seed.h"

#include <array>
#include <cstdint>
#include <set>
#include <span>

#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using Words = std::array<uint32_t, 4>;

Words WordsOf(uint64_t seed, std::string_view purpose, uint64_t attempt, uint64_t client) {
  ChaCha20Stream stream = Must(Must(SimulationSeed::Of(seed)).Stream(purpose, attempt, client));
  Words words;
  stream.FillWords(std::span<uint32_t>(words));
  return words;
}

TEST(SimulationSeedTest, SeedPurposeAttemptAndClientMakeAStream) {
  std::set<Words> all;
  int streams = 0;
  for (const uint64_t seed : {0, 1}) {
    for (const auto purpose : {SimulationSeed::kDropOut, SimulationSeed::kNoise}) {
      for (const uint64_t attempt : {0, 1, 256}) {
        for (const uint64_t client : {0, 1, 256}) {
          const Words words = WordsOf(seed, purpose, attempt, client);
          EXPECT_EQ(WordsOf(seed, purpose, attempt, client), words);
          all.insert(words);
          ++streams;
        }
      }
    }
  }
  EXPECT_EQ(all.size(), size_t(streams));
}

}  // namespace
}  // namespace dtnn::federation
