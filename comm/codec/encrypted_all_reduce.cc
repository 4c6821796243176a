#include "comm/codec/encrypted_all_reduce.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "comm/ckks/context.h"
#include "comm/ckks/message.h"
#include "comm/ckks/samplers.h"
#include "comm/codec/encrypted_codec.h"
#include "comm/crypto/hash.h"
#include "comm/crypto/random_secret.h"
#include "comm/gather_values.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using codec::CodecDescription;
using codec::UpdateClient;
using codec::UpdateServer;

// Chunks under way, where there are fewer ranks: enough for all threads, and for long messages.
constexpr size_t kGroup = 8;

// Every rank shows `mine`, of one length; gets those of all. An error that names the first rank
// whose first `same` bytes are not rank 0's.
absl::StatusOr<std::vector<uint8_t>> Compare(Communicator& communicator,
                                             std::span<const uint8_t> mine, size_t same,
                                             std::string_view what) {
  DTNN_ASSIGN_OR_RETURN(std::vector<uint8_t> all, GatherValues<uint8_t>(communicator, mine));
  for (int rank = 1; rank < communicator.size(); ++rank) {
    if (std::equal(all.begin(), all.begin() + int64_t(same),
                   all.begin() + int64_t(mine.size()) * rank)) {
      continue;
    }
    return InvalidArgument("encrypted sums of ranks: rank ", rank, " has ", what,
                           " than rank 0; all ranks need the same");
  }
  return all;
}

// A secret of this run only, which follows from the key and from numbers that all ranks draw: what
// was recorded in other runs fits nothing.
absl::StatusOr<Secret> SecretOfRun(Communicator& communicator, const CodecDescription& description,
                                   const Secret& key) {
  const auto& fingerprint = description.fingerprint;
  std::vector<uint8_t> hello(fingerprint.begin(), fingerprint.end());
  hello.resize(hello.size() + Secret::kSize);
  DTNN_RETURN_IF_ERROR(FillRandom(std::span(hello).subspan(fingerprint.size())));
  DTNN_ASSIGN_OR_RETURN(
      const std::vector<uint8_t> hellos,
      Compare(communicator, hello, fingerprint.size(), "other parameters of encryption"));
  DTNN_ASSIGN_OR_RETURN(const Secret run,
                        DeriveSecret(key, "DTNN encrypted sums of a run", hellos));
  DTNN_ASSIGN_OR_RETURN(const Secret proof, DeriveSecret(run, "DTNN proof of the key"));
  DTNN_RETURN_IF_ERROR(Compare(communicator, proof.bytes(), Secret::kSize, "another key").status());
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
  if (parameters.packing != ckks::Packing::kCoefficients) {
    return InvalidArgument(
        "encrypted sums of ranks: numbers must be packed as coefficients, "
        "whose errors have a bound");
  }
  DTNN_ASSIGN_OR_RETURN(const codec::CkksContextPointer context,
                        ckks::CkksContext::Create(parameters));
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<codec::ServerCodec> adder,
                        codec::CkksServer(context, ranks));
  DTNN_ASSIGN_OR_RETURN(const Secret run, SecretOfRun(communicator, adder->description(), key));
  DTNN_ASSIGN_OR_RETURN(const Secret seed, DeriveSecret(run, "DTNN encryption"));
  DTNN_ASSIGN_OR_RETURN(const Secret tags, DeriveSecret(run, "DTNN tags"));
  DTNN_ASSIGN_OR_RETURN(const Secret own, codec::ClientTagKey(tags, communicator.rank()));
  DTNN_ASSIGN_OR_RETURN(const Secret of_sums, codec::ServerTagKey(tags));
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<codec::ClientCodec> codec,
                        codec::CkksClient(context, ranks, seed));
  std::unique_ptr<EncryptedAllReduce> sum(new EncryptedAllReduce(
      communicator, parameters.scale(),
      std::make_unique<UpdateClient>(std::move(codec), communicator.rank(), own, of_sums),
      std::make_unique<UpdateServer>(std::move(adder), tags)));
  sum->sums_.bytes = MostMessageBytes(sum->server_->description());
  sum->own_.bytes = sum->received_.bytes =
      sum->sums_.bytes - MessageBytes(*context, ckks::MessageKind::kCiphertext) +
      MessageBytes(*context, ckks::MessageKind::kSeededCiphertext);
  for (Slots* slots : {&sum->own_, &sum->received_, &sum->sums_}) {
    const int64_t bytes = int64_t(sum->ranks_ * sum->per_rank_ * slots->bytes);
    DTNN_ASSIGN_OR_RETURN(slots->all, Tensor::Zeros(DType::kUint8, Shape{bytes}));
  }
  return sum;
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
