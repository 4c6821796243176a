#include "comm/secrets/ckks/message.h"

#include <algorithm>
#include <string_view>

#include "comm/wire/wire.h"
#include "tensor/errors.h"

namespace dtnn::ckks {
namespace {

constexpr uint32_t kMagic = 0x534b4344;  // "DCKS"
constexpr uint8_t kVersion = 1;
constexpr size_t kHeader = 4 + 1 + 1 + sizeof(Fingerprint) + 4;

struct KindInfo {
  std::string_view name;
  bool seeded;
  size_t polynomials;
};

const KindInfo& InfoOf(MessageKind kind) {
  static constexpr KindInfo kInfos[] = {
      {"ciphertext", false, 2}, {"seeded ciphertext", true, 1},   {"public key", true, 1},
      {"key share", false, 1},  {"partial decryption", false, 1},
  };
  return kInfos[size_t(kind) - 1];
}

size_t PolynomialBytes(const CkksContext& context) {
  return context.size() * size_t(context.parameters().prime_bits()) / 8;
}

// Appends the lowest `bits` bits of each number; their number times `bits` is a multiple of 8.
void Pack(std::span<const uint64_t> numbers, int bits, std::span<uint8_t> to) {
  uint64_t buffer = 0;
  int filled = 0;
  size_t at = 0;
  const auto put = [&](int bytes) {
    for (int b = 0; b < bytes; ++b) to[at++] = uint8_t(buffer >> (8 * b));
  };
  for (const uint64_t number : numbers) {
    buffer |= number << filled;
    filled += bits;
    if (filled < 64) continue;
    put(8);
    filled -= 64;
    buffer = filled == 0 ? 0 : number >> (bits - filled);
  }
  put(filled / 8);
}

void Unpack(std::span<const uint8_t> from, int bits, std::span<uint64_t> numbers) {
  const uint64_t mask = ~uint64_t{0} >> (64 - bits);
  uint64_t buffer = 0;
  int filled = 0;
  size_t at = 0;
  for (uint64_t& number : numbers) {
    number = buffer;
    if (filled < bits) {
      const size_t bytes = std::min<size_t>(8, from.size() - at);
      uint64_t next = 0;
      for (size_t b = 0; b < bytes; ++b) next |= uint64_t{from[at + b]} << (8 * b);
      at += bytes;
      number |= next << filled;
      const int used = bits - filled;
      buffer = next >> used;
      filled = int(8 * bytes) - used;
    } else {
      buffer >>= bits;
      filled -= bits;
    }
    number &= mask;
  }
}

bool AllZero(std::span<const uint64_t> numbers) {
  return std::ranges::all_of(numbers, [](uint64_t x) { return x == 0; });
}

}  // namespace

size_t MessageBytes(const CkksContext& context, MessageKind kind) {
  const KindInfo& info = InfoOf(kind);
  return kHeader + (info.seeded ? sizeof(Seed) : 0) + info.polynomials * PolynomialBytes(context);
}

std::vector<uint8_t> MessageToBytes(const CkksContext& context, MessageKind kind, uint32_t number,
                                    const Seed& seed,
                                    std::initializer_list<std::span<const uint64_t>> polynomials) {
  WireWriter header;
  header.Number(kMagic);
  header.Number(kVersion);
  header.Number(uint8_t(kind));
  header.Bytes(context.fingerprint());
  header.Number(number);
  if (InfoOf(kind).seeded) header.Bytes(seed);
  std::vector<uint8_t> bytes = std::move(header).Take();
  size_t at = bytes.size();
  bytes.resize(MessageBytes(context, kind));
  for (const std::span<const uint64_t> polynomial : polynomials) {
    Pack(polynomial, context.parameters().prime_bits(),
         std::span(bytes).subspan(at, PolynomialBytes(context)));
    at += PolynomialBytes(context);
  }
  return bytes;
}

absl::StatusOr<Message> MessageFromBytes(const CkksContext& context, MessageKind kind,
                                         std::span<const uint8_t> bytes) {
  const KindInfo& info = InfoOf(kind);
  WireReader reader(bytes, info.name);
  const uint32_t magic = reader.Number<uint32_t>();
  const uint8_t version = reader.Number<uint8_t>();
  const uint8_t found = reader.Number<uint8_t>();
  const std::span<const uint8_t> fingerprint = reader.Bytes(sizeof(Fingerprint));
  if (magic != kMagic || found != uint8_t(kind) || fingerprint.empty()) {
    return DataLoss(info.name, ": these ", bytes.size(), " bytes are none");
  }
  if (version != kVersion) {
    return FailedPrecondition(info.name, ": has version ", int{version}, ", this program reads ",
                              int{kVersion});
  }
  if (!std::ranges::equal(fingerprint, context.fingerprint())) {
    return FailedPrecondition(info.name, ": was made with other parameters than ",
                              context.parameters().ToString(), ": all must use the same");
  }
  if (bytes.size() != MessageBytes(context, kind)) {
    return DataLoss(info.name, ": has ", bytes.size(), " bytes instead of ",
                    MessageBytes(context, kind));
  }
  Message message;
  message.number = reader.Number<uint32_t>();
  if (info.seeded) std::ranges::copy(reader.Bytes(sizeof(Seed)), message.seed.begin());
  for (size_t p = 0; p < info.polynomials; ++p) {
    std::vector<uint64_t>& polynomial = message.polynomials.emplace_back(context.size());
    Unpack(reader.Bytes(PolynomialBytes(context)), context.parameters().prime_bits(), polynomial);
    bool reduced = true;
    context.ForEach([&](const Modulus& q, size_t i) { reduced &= polynomial[i] < q.value(); });
    if (!reduced) return DataLoss(info.name, ": a number is not below its prime");
  }
  if (kind == MessageKind::kCiphertext && AllZero(message.polynomials[1])) {
    return DataLoss(info.name, ": its second half is zero, so it is not encrypted");
  }
  DTNN_RETURN_IF_ERROR(reader.Done());
  return message;
}

}  // namespace dtnn::ckks
