// Any bytes as what three ranks that know the job's secret send to its coordinator: words that it
// reads, bytes that are none, connections that end and come again. What it answers must be
// generations in which each rank has a place of its own.
//
// The first byte of each step says who (two bits) does what (two bits).

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/ranks/elastic/coordinator.h"
#include "comm/transport/meeting/greeting.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

constexpr size_t kRanks = 3;
constexpr ElasticRange kRange = {.min = 1, .max = 2};

void Check(bool holds) {
  if (!holds) std::abort();
}

class Job {
 public:
  Job() : secret_(Must(JobSecret::Of(std::string(40, 'a')))) {
    Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
    address_ = Must(Resolve(Must(listener.Local()))).front();
    coordinator_ = std::make_unique<Coordinator>(CoordinatorOptions{.range = kRange, .first = 2},
                                                 secret_, std::move(listener));
  }

  void Step(uint8_t what, std::span<const uint8_t>& bytes) {
    const size_t who = what % 4;
    if (who < kRanks) {
      std::optional<Greeting>& rank = ranks_[who];
      switch (what / 4 % 4) {
        case 0:
          SendWord(rank, what / 16, Take(bytes, sizeof(ElasticWord)));
          break;
        case 1:
          Send(rank, Take(bytes, 16));
          break;
        case 2:
          rank.reset();
          break;
        default:
          break;
      }
    }
    Turn();
  }

 private:
  static std::string_view Take(std::span<const uint8_t>& bytes, size_t most) {
    const std::span<const uint8_t> taken = bytes.first(std::min(most, bytes.size()));
    bytes = bytes.subspan(taken.size());
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }

  void Connect(std::optional<Greeting>& rank) {
    Socket socket = Must(StartConnecting(address_));
    Greeting greeting = {.stream = Must(MakeStream(nullptr, std::move(socket), "")),
                         .handshake = Must(Handshake::Calling(secret_, kCoordinatorPurpose))};
    for (int turn = 0; turn < 100 && !greeting.done(); ++turn) {
      Turn();
      if (!greeting.Advance().ok()) return;
    }
    if (greeting.done()) rank.emplace(std::move(greeting));
  }

  void Send(std::optional<Greeting>& rank, std::string_view bytes) {
    if (!rank) Connect(rank);
    if (!rank) return;
    const std::span<const std::byte> range = std::as_bytes(std::span(bytes));
    if (!rank->stream->Write({&range, 1}).ok()) rank.reset();
  }

  void SendWord(std::optional<Greeting>& rank, int kind, std::string_view bytes) {
    ElasticWord word;
    std::memcpy(&word, bytes.data(), bytes.size());
    word.magic = kElasticMagic;
    word.kind = kind == 0 ? ElasticWord::kDone : ElasticWord::kJoin;
    Send(rank, BytesOfMessage(word));
  }

  void Turn() {
    std::vector<pollfd> descriptors;
    coordinator_->AddTo(descriptors);
    poll(descriptors.data(), descriptors.size(), 0);
    Check(coordinator_->Turn(descriptors).ok());
    Check(coordinator_->ranks() <= kRanks);
    for (std::optional<Greeting>& rank : ranks_) {
      while (rank && rank->done() && Hear(*rank)) {
      }
    }
  }

  // One notice, where one is there.
  bool Hear(Greeting& rank) {
    std::array<std::byte, sizeof(ElasticNotice)> bytes;
    const absl::StatusOr<size_t> n = rank.stream->Read(bytes);
    if (!n.ok() || *n == 0) return false;
    ElasticNotice notice;
    Check(ReadMessage({reinterpret_cast<const char*>(bytes.data()), *n}, notice));
    Check(notice.min == kRange.min && notice.max == kRange.max);
    if (notice.kind != ElasticNotice::kFormed) return true;
    Check(notice.generation >= 1 && notice.generation <= coordinator_->generation());
    Check(notice.size >= kRange.min && notice.size <= kRange.max);
    Check(notice.rank >= 0 && notice.rank < notice.size);
    Check(notice.goes_on != 0 || notice.keeps_state == 0);
    Check(std::memchr(notice.host, '\0', sizeof(notice.host)) != nullptr);
    const std::pair place(notice.generation, notice.rank);
    Check(std::ranges::find(places_, place) == places_.end());
    places_.push_back(place);
    return true;
  }

  const JobSecret secret_;
  SocketAddress address_;
  std::unique_ptr<Coordinator> coordinator_;
  std::array<std::optional<Greeting>, kRanks> ranks_;
  std::vector<std::pair<int64_t, int32_t>> places_;  // generation and rank, of all that were given
};

}  // namespace
}  // namespace dtnn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const uint8_t> bytes(data, std::min<size_t>(size, 4096));
  dtnn::Job job;
  while (!bytes.empty()) {
    const uint8_t what = bytes[0];
    bytes = bytes.subspan(1);
    job.Step(what, bytes);
  }
  return 0;
}
