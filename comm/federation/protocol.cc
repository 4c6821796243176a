#include "comm/federation/protocol.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/federation/factors.h"
#include "comm/federation/masked_protocol.h"
#include "comm/federation/threshold_protocol.h"
#include "comm/secrets/sums/encrypted_codec.h"
#include "comm/secrets/sums/plain_codec.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

class PlainServerProtocol : public ServerProtocol {
 public:
  PlainServerProtocol(size_t chunk_values, const SumFacts& sum)
      : chunk_values_(chunk_values), compression_(sum.compression), trainable_(sum.trainable) {}
  absl::StatusOr<std::unique_ptr<codec::ServerCodec>> MakeCodec() override {
    if (compression_.on()) return CompressedServer(compression_, chunk_values_, trainable_);
    return codec::PlainServer(codec::WireType::kFloat32, chunk_values_);
  }

 private:
  const size_t chunk_values_;
  const Compression compression_;
  const size_t trainable_;
};

class PlainClientProtocol : public ClientProtocol {
 public:
  PlainClientProtocol(size_t chunk_values, const SumFacts& sum)
      : chunk_values_(chunk_values),
        compression_(sum.compression),
        trainable_(sum.trainable),
        rounding_(sum.rounding) {}
  absl::StatusOr<std::unique_ptr<codec::ClientCodec>> MakeCodec() override {
    if (compression_.on()) {
      return CompressedClient(compression_, chunk_values_, trainable_, rounding_);
    }
    return codec::PlainClient(codec::WireType::kFloat32, chunk_values_);
  }

 private:
  const size_t chunk_values_;
  const Compression compression_;
  const size_t trainable_;
  const Philox rounding_;
};

class SharedKeyServer : public ServerProtocol {
 public:
  SharedKeyServer(ContextPointer context, int clients)
      : context_(std::move(context)), clients_(clients) {}
  absl::StatusOr<std::unique_ptr<codec::ServerCodec>> MakeCodec() override {
    return codec::CkksServer(context_, clients_);
  }

 private:
  const ContextPointer context_;
  const int clients_;
};

class SharedKeyClient : public ClientProtocol {
 public:
  SharedKeyClient(ContextPointer context, int clients, const Secret& key)
      : context_(std::move(context)), clients_(clients), key_(key) {}
  absl::StatusOr<std::unique_ptr<codec::ClientCodec>> MakeCodec() override {
    return codec::CkksClient(context_, clients_, key_);
  }

 private:
  const ContextPointer context_;
  const int clients_;
  const Secret key_;
};

}  // namespace

double LeastNoise(const Protector& protector, int participants, double factor,
                  std::span<const float> begin) {
  if (!protector.hides_in_sums()) return 0;
  constexpr double kUnits = 4;
  float largest = 0;
  for (const float x : begin) largest = std::max(largest, std::abs(x));
  const bool masked = protector.protection() == Protection::kMasked;
  const double unit = masked ? std::ldexp(1, -MaskedFractionBits(participants)) : 0;
  return kUnits * std::max(unit, factor * double(largest) * 0x1p-23);
}

absl::StatusOr<std::unique_ptr<ServerProtocol>> MakeServerProtocol(const Protector& protector,
                                                                   const SumFacts& sum) {
  switch (protector.protection()) {
    case Protection::kNone:
      break;
    case Protection::kMasked:
      return MakeMaskedServer(protector, sum);
    case Protection::kSharedKey:
      return std::make_unique<SharedKeyServer>(protector.context(), sum.participants);
    case Protection::kThreshold:
      return MakeThresholdServer(protector.context(), sum);
  }
  return std::make_unique<PlainServerProtocol>(protector.chunk_values(), sum);
}

absl::Status Company::Check(const std::set<int>& positions) const {
  if (int64_t(positions.size()) < quorum) {
    return FailedPrecondition("a sum of ", positions.size(), " updates, where the aggregator had ",
                              "promised ", quorum, " or more");
  }
  std::vector<double> of_these;
  for (const int position : positions) {
    if (size_t(position) < factors.size()) of_these.push_back(factors[size_t(position)]);
  }
  return CheckHidden(of_these, least_clients);
}

absl::StatusOr<std::unique_ptr<ClientProtocol>> MakeClientProtocol(const Protector& protector,
                                                                   const SumFacts& sum,
                                                                   int position,
                                                                   const std::optional<Secret>& key,
                                                                   const Company& company) {
  // Zeros where they have none.
  const auto key_for = [&key](std::string_view purpose) -> absl::StatusOr<Secret> {
    if (!key) return Secret();
    return DeriveSecret(*key, purpose);
  };
  switch (protector.protection()) {
    case Protection::kNone:
      break;
    case Protection::kMasked: {
      DTNN_ASSIGN_OR_RETURN(const Secret own, key_for("DTNN federation: shares of masks"));
      return MakeMaskedClient(protector, sum, position, own, company);
    }
    case Protection::kSharedKey:
      if (!key) return absl::FailedPreconditionError("the key that clients share is missing");
      return std::make_unique<SharedKeyClient>(protector.context(), sum.participants, *key);
    case Protection::kThreshold: {
      DTNN_ASSIGN_OR_RETURN(const Secret own, key_for("DTNN federation: shares of joint keys"));
      return MakeThresholdClient(protector.context(), sum, position, own);
    }
  }
  return std::make_unique<PlainClientProtocol>(protector.chunk_values(), sum);
}

}  // namespace dtnn::federation
