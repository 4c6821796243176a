// A client that is asked for one update of a buffer (update_buffer.h), on the aggregator's side:
// what it has sent, and whether that is used. Updates are plain ones; connections are the roster's.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_BUFFER_ASK_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_BUFFER_ASK_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/aggregator/asked.h"
#include "comm/federation/aggregator/attempt/read_update.h"
#include "comm/federation/aggregator/attempt/receive_places.h"
#include "comm/federation/aggregator/inquiry.h"
#include "comm/secrets/crypto/ed25519.h"
#include "comm/secrets/sums/authenticated.h"

namespace dtnn::federation {

// What all asks have to do with, until they are closed.
struct AskParts {
  codec::UpdateServer& codec;
  UpdateShape shape;
  std::chrono::milliseconds deadline{};
  ReceivePlaces& places;
  uint64_t completed = 0;  // updates that were complete so far
};

class Ask : public Inquiry {
 public:
  using Clock = ReceivePlaces::Clock;

  // `version`: of the parameters that the client trains from. `key`: by which it has proved its
  // name.
  Ask(AskParts& parts, uint64_t number, int64_t version, Asked client,
      std::optional<Ed25519PublicKey> key)
      : parts_(parts),
        number_(number),
        version_(version),
        client_(std::move(client)),
        key_(std::move(key)) {}
  Ask(const Ask&) = delete;
  Ask& operator=(const Ask&) = delete;

  uint64_t number() const override { return number_; }
  std::optional<size_t> Allowed(int position, const FrameHeader& header) override;
  void Hear(int position) override;
  void Take(int position, Frame frame) override;
  void Lose(int position, const std::string& why) override;
  bool over() const override { return over_; }
  bool answered(int position) const override { return position != 0 || reported_; }

  // Leaves out a client that takes too long, or keeps others waiting; not where its update is
  // there.
  void Advance(Clock::time_point now);
  Clock::time_point deadline() const { return begin_ + parts_.deadline; }
  // Nobody was served for so long.
  void Excuse(Clock::duration time);
  // All of its update is there, and waits to be read: its number in the order in which updates were
  // complete; 0: it is not.
  uint64_t complete() const { return complete_; }
  // The numbers of a complete one, whose place is free then. Accept says that they are used, Refuse
  // why they are not.
  absl::StatusOr<std::vector<float>> Read();
  void Accept(int64_t staleness);
  void Refuse(const std::string& why);
  // Its update is there, or will not be used.
  bool settled() const { return client_.state != Asked::State::kWaiting; }
  // From now on what comes is counted, and thrown away.
  void Close();

  int64_t version() const { return version_; }
  const Asked& client() const { return client_; }
  const std::optional<Ed25519PublicKey>& key() const { return key_; }
  void LeaveOut(const std::string& why);

 private:
  AskParts& parts_;
  const uint64_t number_;
  const int64_t version_;
  Asked client_;
  const std::optional<Ed25519PublicKey> key_;
  Clock::time_point begin_ = Clock::now(), now_ = begin_;
  std::vector<Bytes> chunks_;
  ReceivePlaces::Holder receiving_;
  bool reported_ = false;  // or declined, or gone
  uint64_t complete_ = 0;
  bool over_ = false;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_BUFFER_ASK_H_
