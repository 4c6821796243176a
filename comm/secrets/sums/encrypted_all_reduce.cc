#include "comm/secrets/sums/encrypted_all_reduce.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <string_view>
#include <utility>

#include "comm/gather_values.h"
#include "comm/secrets/ckks/context.h"
#include "comm/secrets/ckks/message.h"
#include "comm/secrets/ckks/samplers.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/sums/encrypted_codec.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using codec::CodecDescription;
using codec::UpdateClient;
using codec::UpdateServer;

// Chunks under way, where there are fewer ranks: enough for all threads, and for long messages.
constexpr size_t kGroup = 8;

// What each rank sends before what it shows: whether it can continue, and why not.
constexpr size_t kReasonBytes = 255, kVerdictBytes = 1 + kReasonBytes;

// Every rank shows its status and `mine`, of one length; gets the bytes of all, one rank's after
// another's. An error of any rank is one on all of them, which names the first such rank.
absl::StatusOr<std::vector<uint8_t>> Show(Communicator& communicator, const absl::Status& status,
                                          std::span<const uint8_t> mine) {
  std::vector<uint8_t> shown(kVerdictBytes);
  shown[0] = uint8_t(status.code());
  const absl::string_view reason = status.message().substr(0, kReasonBytes);
  std::ranges::copy(reason, shown.begin() + 1);
  shown.insert(shown.end(), mine.begin(), mine.end());
  DTNN_ASSIGN_OR_RETURN(const std::vector<uint8_t> all, GatherValues<uint8_t>(communicator, shown));
  std::vector<uint8_t> bytes;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const auto theirs = std::span(all).subspan(shown.size() * size_t(rank), shown.size());
    const auto text = theirs.subspan(1, kReasonBytes);
    if (theirs[0] != 0) {
      const std::string why(text.begin(), std::ranges::find(text, 0));
      return absl::Status(absl::StatusCode(theirs[0]),
                          StrCat("encrypted sums of ranks: rank ", rank, ": ", why));
    }
    bytes.insert(bytes.end(), theirs.begin() + kVerdictBytes, theirs.end());
  }
  return bytes;
}

// An error that names the first rank whose first `same` bytes, of `each`, are not rank 0's.
absl::Status CheckAlike(std::span<const uint8_t> all, size_t each, size_t same,
                        std::string_view what) {
  for (size_t rank = 1; rank < all.size() / each; ++rank) {
    if (std::ranges::equal(all.first(same), all.subspan(rank * each, same))) continue;
    return InvalidArgument("encrypted sums of ranks: rank ", rank, " has ", what,
                           " than rank 0; all ranks need the same");
  }
  return absl::OkStatus();
}

// What a rank has made before it needs the others.
struct Prepared {
  codec::CkksContextPointer context;
  std::unique_ptr<codec::ServerCodec> adder;
  // The fingerprint of the parameters, and random numbers.
  std::array<uint8_t, sizeof(CodecDescription::fingerprint) + Secret::kSize> hello = {};
};

absl::Status Prepare(const ckks::CkksParameters& parameters, int ranks, Prepared& prepared) {
  if (parameters.packing != ckks::Packing::kCoefficients) {
    return InvalidArgument("numbers must be packed as coefficients, whose errors have a bound");
  }
  DTNN_ASSIGN_OR_RETURN(prepared.context, ckks::CkksContext::Create(parameters));
  DTNN_ASSIGN_OR_RETURN(prepared.adder, codec::CkksServer(prepared.context, ranks));
  std::ranges::copy(prepared.adder->description().fingerprint, prepared.hello.begin());
  return FillRandom(std::span(prepared.hello).last(Secret::kSize));
}

// A secret of this run only, which follows from the key and from numbers that all ranks draw: what
// was recorded in other runs fits nothing.
absl::StatusOr<Secret> SecretOfRun(Communicator& communicator, const absl::Status& prepared,
                                   std::span<const uint8_t> hello, const Secret& key) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<uint8_t> hellos, Show(communicator, prepared, hello));
  DTNN_RETURN_IF_ERROR(CheckAlike(hellos, hello.size(), hello.size() - Secret::kSize,
                                  "other parameters of encryption"));
  const absl::StatusOr<Secret> run = DeriveSecret(key, "DTNN encrypted sums of a run", hellos);
  const absl::StatusOr<Secret> proof = run.ok() ? DeriveSecret(*run, "DTNN proof of the key") : run;
  DTNN_ASSIGN_OR_RETURN(
      const std::vector<uint8_t> proofs,
      Show(communicator, proof.status(), proof.ok() ? proof->bytes() : Secret().bytes()));
  DTNN_RETURN_IF_ERROR(CheckAlike(proofs, Secret::kSize, Secret::kSize, "another key"));
  return run;
}

// Calls body(0) to body(count - 1) on several threads; the first error by number.
absl::Status ForAll(size_t count, absl::FunctionRef<absl::Status(size_t)> body) {
  std::vector<absl::Status> statuses(count);
  ParallelFor(0, int64_t(count), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) statuses[size_t(i)] = body(size_t(i));
  });
  for (const absl::Status& status : statuses) DTNN_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

absl::Status Put(std::span<const uint8_t> message, std::span<uint8_t> slot) {
  if (message.size() != slot.size()) {
    return absl::InternalError(
        StrCat("a ciphertext of ", message.size(), " bytes, expected ", slot.size()));
  }
  std::ranges::copy(message, slot.begin());
  return absl::OkStatus();
}

}  // namespace

EncryptedAllReduce::EncryptedAllReduce(Communicator& communicator, double scale,
                                       std::unique_ptr<UpdateClient> client,
                                       std::unique_ptr<UpdateServer> server)
    : communicator_(communicator),
      client_(std::move(client)),
      server_(std::move(server)),
      ranks_(size_t(communicator.size())),
      me_(size_t(communicator.rank())),
      per_rank_((kGroup + ranks_ - 1) / ranks_),
      chunk_values_(server_->description().chunk_values),
      step_(double(std::bit_ceil(2 * uint64_t{ckks::kErrorPairs} * ranks_ + 1)) / scale) {}

absl::StatusOr<std::unique_ptr<EncryptedAllReduce>> EncryptedAllReduce::Create(
    Communicator& communicator, const ckks::CkksParameters& parameters, const Secret& key) {
  const int ranks = communicator.size();
  Prepared prepared;
  const absl::Status status = Prepare(parameters, ranks, prepared);
  DTNN_ASSIGN_OR_RETURN(const Secret run, SecretOfRun(communicator, status, prepared.hello, key));
  const auto make = [&]() -> absl::StatusOr<std::unique_ptr<EncryptedAllReduce>> {
    DTNN_ASSIGN_OR_RETURN(const Secret seed, DeriveSecret(run, "DTNN encryption"));
    DTNN_ASSIGN_OR_RETURN(const Secret tags, DeriveSecret(run, "DTNN tags"));
    DTNN_ASSIGN_OR_RETURN(const Secret own, codec::ClientTagKey(tags, communicator.rank()));
    DTNN_ASSIGN_OR_RETURN(const Secret of_sums, codec::ServerTagKey(tags));
    DTNN_ASSIGN_OR_RETURN(std::unique_ptr<codec::ClientCodec> codec,
                          codec::CkksClient(prepared.context, ranks, seed));
    std::unique_ptr<EncryptedAllReduce> sum(new EncryptedAllReduce(
        communicator, parameters.scale(),
        std::make_unique<UpdateClient>(std::move(codec), communicator.rank(), own, of_sums),
        std::make_unique<UpdateServer>(std::move(prepared.adder), tags)));
    const size_t sum_bytes = MostMessageBytes(sum->server_->description());
    const size_t own_bytes = sum_bytes -
                             MessageBytes(*prepared.context, ckks::MessageKind::kCiphertext) +
                             MessageBytes(*prepared.context, ckks::MessageKind::kSeededCiphertext);
    DTNN_RETURN_IF_ERROR(sum->AllocateSlots(own_bytes, sum_bytes));
    return sum;
  };
  absl::StatusOr<std::unique_ptr<EncryptedAllReduce>> sum = make();
  DTNN_RETURN_IF_ERROR(Show(communicator, sum.status(), {}).status());
  return sum;
}

absl::Status EncryptedAllReduce::AllocateSlots(size_t own_bytes, size_t sum_bytes) {
  own_.bytes = received_.bytes = own_bytes;
  sums_.bytes = sum_bytes;
  for (Slots* slots : {&own_, &received_, &sums_}) {
    const int64_t bytes = int64_t(ranks_ * per_rank_ * slots->bytes);
    DTNN_ASSIGN_OR_RETURN(slots->all, Tensor::Zeros(DType::kUint8, Shape{bytes}));
  }
  return absl::OkStatus();
}

// Tells the others, who wait for this rank.
absl::Status EncryptedAllReduce::Fail(const absl::Status& status) {
  if (!status.ok()) communicator_.Abort(status);
  return status;
}

std::span<float> EncryptedAllReduce::Part(std::span<float> numbers, size_t chunk) const {
  const size_t begin = chunk * chunk_values_;
  return numbers.subspan(begin, std::min(chunk_values_, numbers.size() - begin));
}

absl::Status EncryptedAllReduce::Await() {
  absl::Status status;
  for (const std::unique_ptr<Work>& work : works_) {
    if (status.ok()) status = work->Wait();
  }
  works_.clear();
  return status;
}

absl::Status EncryptedAllReduce::SendToAdders(size_t count) {
  const size_t mine = ChunksOf(me_, count);
  // Each to the next first, so that no rank gets all at once.
  for (size_t i = 1; i < ranks_; ++i) {
    const size_t to = (me_ + i) % ranks_, from = (me_ + ranks_ - i) % ranks_;
    if (mine > 0) {
      works_.push_back(
          communicator_.ReceiveAsync(received_.Range(from * per_rank_, mine), int(from)));
    }
    if (const size_t theirs = ChunksOf(to, count); theirs > 0) {
      works_.push_back(communicator_.SendAsync(own_.Range(to * per_rank_, theirs), int(to)));
    }
  }
  return Await();
}

absl::Status EncryptedAllReduce::AddMine(std::span<float> numbers, size_t first, size_t count) {
  return ForAll(ChunksOf(me_, count), [&](size_t i) -> absl::Status {
    const size_t slot = me_ * per_rank_ + i, chunk = first + i * ranks_ + me_;
    DTNN_ASSIGN_OR_RETURN(codec::UpdateSum sum,
                          server_->NewSum({calls_, uint32_t(chunk)}, Part(numbers, chunk).size()));
    for (size_t rank = 0; rank < ranks_; ++rank) {
      const std::span<const uint8_t> message =
          rank == me_ ? own_.At(slot) : received_.At(rank * per_rank_ + i);
      DTNN_RETURN_IF_ERROR(WithContext(sum.Add(int(rank), message), "encrypted sum: rank ", me_,
                                       " refuses what came from rank ", rank));
    }
    DTNN_ASSIGN_OR_RETURN(const codec::Bytes result, sum.Result());
    return Put(result, sums_.At(slot));
  });
}

absl::Status EncryptedAllReduce::SendSums(size_t count) {
  const size_t mine = ChunksOf(me_, count);
  for (size_t i = 1; i < ranks_; ++i) {
    const size_t to = (me_ + i) % ranks_, from = (me_ + ranks_ - i) % ranks_;
    if (const size_t theirs = ChunksOf(from, count); theirs > 0) {
      works_.push_back(
          communicator_.ReceiveAsync(sums_.Range(from * per_rank_, theirs), int(from)));
    }
    if (mine > 0) {
      works_.push_back(communicator_.SendAsync(sums_.Range(me_ * per_rank_, mine), int(to)));
    }
  }
  return Await();
}

absl::Status EncryptedAllReduce::SumGroup(std::span<float> numbers, size_t first, size_t count) {
  const absl::Status encoded = ForAll(count, [&](size_t i) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(const codec::Bytes message,
                          client_->Encode({calls_, uint32_t(first + i)}, Part(numbers, first + i)));
    return Put(message, own_.At(SlotOf(i)));
  });
  if (absl::IsInvalidArgument(encoded)) {
    return Fail(absl::OutOfRangeError(
        StrCat("encrypted sum: rank ", me_, " ", encoded.message(),
               "; if training has diverged, a lower learning rate may help")));
  }
  DTNN_RETURN_IF_ERROR(Fail(encoded));
  DTNN_RETURN_IF_ERROR(SendToAdders(count));
  DTNN_RETURN_IF_ERROR(Fail(AddMine(numbers, first, count)));
  DTNN_RETURN_IF_ERROR(SendSums(count));
  return Fail(Read(numbers, first, count));
}

absl::Status EncryptedAllReduce::Read(std::span<float> numbers, size_t first, size_t count) {
  // Too large for a double to hold anything between multiples of step_.
  const double large = 0x1.8p52 * step_;
  return ForAll(count, [&](size_t i) -> absl::Status {
    const std::span<float> part = Part(numbers, first + i);
    DTNN_RETURN_IF_ERROR(
        WithContext(client_->Decode({calls_, uint32_t(first + i)}, sums_.At(SlotOf(i)), part),
                    "encrypted sum: rank ", me_, " refuses the sum of rank ", i % ranks_));
    for (float& x : part) x = float(double(x) + large - large);
    return absl::OkStatus();
  });
}

absl::Status EncryptedAllReduce::Sum(const Tensor& tensor) {
  if (tensor.dtype() != DType::kFloat32 || !tensor.dense()) {
    return Fail(
        InvalidArgument("an encrypted sum of ", Name(tensor.dtype()), "; expected dense float32"));
  }
  ++calls_;
  if (ranks_ == 1 || tensor.num_elements() == 0) return absl::OkStatus();
  const std::span<float> numbers(tensor.data<float>(), size_t(tensor.num_elements()));
  const size_t chunks = (numbers.size() + chunk_values_ - 1) / chunk_values_;
  const size_t group = ranks_ * per_rank_;
  for (size_t first = 0; first < chunks; first += group) {
    DTNN_RETURN_IF_ERROR(SumGroup(numbers, first, std::min(group, chunks - first)));
  }
  return absl::OkStatus();
}

}  // namespace dtnn
