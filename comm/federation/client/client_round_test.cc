#include "comm/federation/client/client_round.h"

#include <string>

#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

// A sum of differences is not what a protection and its account are made for.
TEST(ClientRoundTest, OnlyPlainUpdatesAreSentAsDifferences) {
  const JobSecret secret = Must(JobSecret::Of(std::string(40, 's')));
  const ClientOptions options = {
      .place = {}, .name = "a", .model = {.values = 3, .trainable = 2}, .samples = 5};
  const auto begin = [&](Protection protection, bool difference) {
    const Protector protector = Must(Protector::Create({.protection = protection}, 3));
    const Frame frame = {
        .header = {.kind = FrameKind::kRound, .attempt = 1},
        .body = ToBytes(RoundStart{
            .round = 1, .rounds = 2, .samples = {5, 6}, .quorum = 1, .difference = difference})};
    return ClientRound::Begin(frame, {.options = options,
                                      .protector = protector,
                                      .secret = secret,
                                      .send = [](FrameKind, uint64_t, uint32_t, Bytes) {}})
        .status();
  };
  EXPECT_EQ(begin(Protection::kNone, true), absl::OkStatus());
  EXPECT_EQ(begin(Protection::kMasked, false), absl::OkStatus());
  EXPECT_EQ(begin(Protection::kMasked, true),
            absl::DataLossError("asks for a difference, but this client protects its updates"));
}

}  // namespace
}  // namespace dtnn::federation
