#include "comm/federation/aggregator/round_messages.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "comm/federation/aggregator/last_wait.h"
#include "comm/federation/agreed.h"
#include "comm/patience.h"
#include "comm/secrets/sums/plain_codec.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;

// How long clients get to fetch the final parameters, from the last byte that one of them took.
constexpr std::chrono::seconds kLastMessages(10);
// Where all wait for an aggregator that was started again: for the first of them, and, when enough
// have come, for another one. A client calls again after two seconds, or, where its call was lost
// with the aggregator before, after twelve.
constexpr std::chrono::seconds kReturn(30), kQuiet(13);

}  // namespace

absl::StatusOr<std::vector<SharedBytes>> ParameterBodies(const FederationState& state,
                                                         size_t trainable, bool control) {
  std::vector<SharedBytes> bodies;
  if (state.from.encrypted) {
    for (const Bytes& chunk : state.encrypted)
      bodies.push_back(std::make_shared<const Bytes>(chunk));
    return bodies;
  }
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<codec::ClientCodec> codec,
                        codec::PlainClient(codec::WireType::kFloat32, kParameterChunk));
  const std::vector<float> numbers = NumbersOfRound(state, trainable, control);
  for (size_t at = 0; at < numbers.size(); at += kParameterChunk) {
    const size_t count = std::min(kParameterChunk, numbers.size() - at);
    DTNN_ASSIGN_OR_RETURN(Bytes body, codec->Encode({.chunk = uint32_t(at / kParameterChunk)},
                                                    std::span(numbers).subspan(at, count)));
    bodies.push_back(std::make_shared<const Bytes>(std::move(body)));
  }
  return bodies;
}

void SendRound(Member& member, uint64_t attempt, const RoundStart& start,
               const std::vector<SharedBytes>& bodies) {
  member.channel.Send(FrameKind::kRound, attempt, 0, ToBytes(start));
  for (size_t i = 0; i < bodies.size(); ++i) {
    member.channel.Send(FrameKind::kParameters, attempt, uint32_t(i), bodies[i]);
  }
}

absl::Status SendTheEnd(const AggregatorOptions& options, int64_t rounds,
                        const FederationState& state, Roster& roster) {
  using Clock = Roster::Clock;
  DTNN_RETURN_IF_ERROR(roster.SettleAllowed());  // the model is not for one that is gone
  DTNN_ASSIGN_OR_RETURN(const std::vector<SharedBytes> bodies, ParameterBodies(state));
  std::set<int> told;
  const auto busy = std::ranges::count_if(roster.members(), [](const auto& id_and_member) {
    return id_and_member.second.attempt != nullptr;
  });
  // Where the aggregator before this one has ended with the last round done.
  const bool awaits = roster.members().empty();
  const milliseconds least = awaits ? kReturn : kLastMessages, most = least + options.deadline;
  roster.EndSignsOfLife();
  LastWait wait(Clock::now(), busy > 0 ? most : least, kLastMessages, most, roster.bytes().first);
  if (busy > 0) {
    options.Say(StrCat("waits for ", busy,
                       busy == 1 ? " client that trains" : " clients that train", ", ",
                       ToString(most), " at most, to send the final parameters"));
  }
  if (awaits) {
    options.Say(
        StrCat("waits ", ToString(least), " for clients that come, to send the final parameters"));
  }
  Clock::time_point left = Clock::now();  // the last one
  const auto some_may_come = [&] {
    if (!roster.members().empty()) left = Clock::now();
    return awaits && (told.size() < size_t(options.min_clients) || Clock::now() < left + kQuiet);
  };
  do {  // also those who come now
    for (auto& [id, member] : roster.members()) {
      if (member.name.empty() || !told.insert(id).second) continue;
      SendRound(member, 0,
                // A run that is resumed may be of fewer rounds than are done.
                {.over = true,
                 .round = state.rounds_done,
                 .rounds = std::max(rounds, state.rounds_done),
                 .parameters = state.from},
                bodies);
    }
    // A connection that is closed with bytes unread may take what was sent with it: clients go
    // first.
    DTNN_RETURN_IF_ERROR(roster.Turn(wait.end()));
    wait.Sent(roster.bytes().first, Clock::now());
  } while ((some_may_come() || !roster.members().empty()) && Clock::now() < wait.end());
  return absl::OkStatus();
}

}  // namespace dtnn::federation
