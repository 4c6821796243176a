#include "comm/federation/messages.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <utility>

#include "comm/wire/wire.h"
#include "tensor/errors.h"
#include "tensor/text/class_name.h"

namespace dtnn::federation {
namespace {

void PutReal(WireWriter& writer, double x) { writer.Number(std::bit_cast<uint64_t>(x)); }
double Real(WireReader& reader) { return std::bit_cast<double>(reader.Number<uint64_t>()); }

void PutText(WireWriter& writer, std::string_view text, size_t most) {
  text = text.substr(0, most);
  writer.Number(uint16_t(text.size()));
  writer.Bytes(AsBytes(text));
}

std::string AsText(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string Text(WireReader& reader) { return AsText(reader.Bytes(reader.Number<uint16_t>())); }

template <size_t n>
std::array<uint8_t, n> Array(WireReader& reader) {
  std::array<uint8_t, n> array{};
  std::ranges::copy(reader.Bytes(n), array.begin());
  return array;
}

// One line for people, whatever was sent; of the same length, so that it can be sent again.
std::string Readable(std::string text) {
  text.resize(std::min(text.size(), kMostTextBytes));
  for (char& c : text) c = c >= ' ' && c <= '~' ? c : '?';
  return text;
}

void PutNonces(WireWriter& writer, std::span<const RunNonce> nonces) {
  writer.Number(uint32_t(nonces.size()));
  for (const RunNonce& nonce : nonces) writer.Bytes(nonce);
}

absl::StatusOr<std::vector<RunNonce>> Nonces(WireReader& reader, std::string_view what) {
  const uint32_t count = reader.Number<uint32_t>();
  if (count > kMostAggregators) {
    return DataLoss(what, ": ", count, " aggregators, at most ", kMostAggregators, " are allowed");
  }
  std::vector<RunNonce> nonces;
  for (uint32_t i = 0; i < count; ++i) nonces.push_back(Array<sizeof(RunNonce)>(reader));
  return nonces;
}

absl::StatusOr<Labels> LabelsIn(WireReader& reader) {
  const uint16_t count = reader.Number<uint16_t>();
  if (count > kMostLabels) {
    return InvalidArgument("hello: ", count, " labels, at most ", kMostLabels, " are allowed");
  }
  Labels labels;
  for (uint16_t i = 0; i < count; ++i) {
    std::string key = Text(reader);
    labels.emplace_back(std::move(key), Text(reader));
  }
  return labels;
}

// At least `low`, finite.
bool In(double x, double low, double high) { return x >= low && x <= high; }

bool IsNamePart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMostNameBytes && std::ranges::all_of(name, IsNamePart);
}

}  // namespace

absl::Status CheckClasses(const Classes& classes) {
  if (classes.outputs > kMostClasses) {
    return InvalidArgument("a network with ", classes.outputs, " outputs; a federation takes ",
                           kMostClasses, " at most");
  }
  if (!classes.names.empty() && classes.names.size() != classes.outputs) {
    return InvalidArgument(classes.names.size(), " names of classes for ", classes.outputs,
                           " outputs");
  }
  size_t bytes = 8;
  std::set<std::string_view> distinct;
  for (const std::string& name : classes.names) {
    bytes += 2 + name.size();
    if (!IsClassName(name)) {
      return InvalidArgument("a class called ", Quoted(name, 80), "; expected UTF-8 text of 1 to ",
                             kMostClassNameBytes, " bytes without control characters");
    }
    if (!distinct.insert(name).second) {
      return InvalidArgument("the class name ", Quoted(name, 80), " appears twice");
    }
  }
  if (bytes <= kMostClassesBytes) return absl::OkStatus();
  return InvalidArgument("the names of ", classes.outputs, " classes have ", bytes,
                         " bytes; a federation takes ", kMostClassesBytes, " at most");
}

absl::StatusOr<Hash> HashOfNames(std::span<const std::string> names) {
  if (names.empty()) return Hash{};
  WireWriter writer;
  for (const std::string& name : names) {
    writer.Number(uint64_t(name.size()));
    writer.Bytes(AsBytes(name));
  }
  return Sha256({AsBytes("DTNN federation: names of classes"), writer.bytes()});
}

absl::Status CheckClientName(std::string_view name) {
  if (IsName(name)) return absl::OkStatus();
  return InvalidArgument("a client's name is 1 to ", kMostNameBytes,
                         " letters, digits and \"._-\", not ", Quoted(name));
}

Bytes ToBytes(const Hello& message) {
  WireWriter writer;
  PutText(writer, message.name, kMostNameBytes);
  writer.Bytes(message.model.network);
  writer.Number(message.model.values);
  writer.Number(message.model.trainable);
  for (const uint32_t extent : message.model.sample) writer.Number(extent);
  writer.Bytes(message.model.local);
  writer.Number(uint64_t(message.samples));
  PutText(writer, message.protection, kMostTextBytes);
  writer.Bytes(message.key);
  writer.Bytes(message.class_names);
  writer.Number(uint64_t(message.steps));
  writer.Number(uint64_t(message.clients));
  PutNonces(writer, message.aggregators);
  writer.Number(uint16_t(message.labels.size()));
  for (const auto& [key, value] : message.labels) {
    PutText(writer, key, kMostLabelBytes);
    PutText(writer, value, kMostLabelBytes);
  }
  return std::move(writer).Take();
}

absl::StatusOr<Hello> HelloFromBytes(std::span<const uint8_t> bytes) {
  WireReader reader(bytes, "hello");
  Hello message;
  message.name = Text(reader);
  message.model.network = Array<sizeof(Hash)>(reader);
  message.model.values = reader.Number<uint64_t>();
  message.model.trainable = reader.Number<uint64_t>();
  for (uint32_t& extent : message.model.sample) extent = reader.Number<uint32_t>();
  message.model.local = Array<sizeof(Hash)>(reader);
  const uint64_t samples = reader.Number<uint64_t>();
  message.protection = Readable(Text(reader));
  message.key = Array<8>(reader);
  message.class_names = Array<sizeof(Hash)>(reader);
  const uint64_t steps = reader.Number<uint64_t>();
  const uint64_t clients = reader.Number<uint64_t>();
  DTNN_ASSIGN_OR_RETURN(message.aggregators, Nonces(reader, "hello"));
  DTNN_ASSIGN_OR_RETURN(message.labels, LabelsIn(reader));
  DTNN_RETURN_IF_ERROR(reader.Done());
  DTNN_RETURN_IF_ERROR(CheckClientName(message.name));
  DTNN_RETURN_IF_ERROR(WithContext(CheckLabels(message.labels), "hello"));
  if (samples < 1 || samples > uint64_t(kMostSamples)) {
    return InvalidArgument("hello: ", samples, " samples; expected 1 to ", kMostSamples);
  }
  if (steps < 1 || steps > uint64_t(kMostSteps)) {
    return InvalidArgument("hello: ", steps, " steps in a round; expected 1 to ", kMostSteps);
  }
  if (clients > uint64_t(kMostGroup)) {
    return InvalidArgument("hello: an aggregator of ", clients, " clients; expected ", kMostGroup,
                           " at most");
  }
  if (clients == 0 && !message.aggregators.empty()) {
    return InvalidArgument("hello: names ", message.aggregators.size(),
                           " aggregators behind it, but has not come as one");
  }
  message.samples = int64_t(samples);
  message.steps = int64_t(steps);
  message.clients = int64_t(clients);
  return message;
}

Bytes ToBytes(const GroupSize& message) {
  WireWriter writer;
  writer.Number(uint64_t(message.clients));
  writer.Number(uint64_t(message.samples));
  PutNonces(writer, message.aggregators);
  return std::move(writer).Take();
}

absl::StatusOr<GroupSize> GroupSizeFromBytes(std::span<const uint8_t> bytes) {
  WireReader reader(bytes, "size");
  const uint64_t clients = reader.Number<uint64_t>(), samples = reader.Number<uint64_t>();
  DTNN_ASSIGN_OR_RETURN(std::vector<RunNonce> aggregators, Nonces(reader, "size"));
  DTNN_RETURN_IF_ERROR(reader.Done());
  if (clients < 1 || clients > uint64_t(kMostGroup) || samples < 1 ||
      samples > uint64_t(kMostSamples)) {
    return DataLoss("size: ", clients, " clients with ", samples, " samples; expected 1 to ",
                    kMostGroup, " and 1 to ", kMostSamples);
  }
  return GroupSize{.clients = int64_t(clients),
                   .samples = int64_t(samples),
                   .aggregators = std::move(aggregators)};
}

Bytes ToBytes(const Classes& message) {
  WireWriter writer;
  writer.Number(message.outputs);
  writer.Number(uint32_t(message.names.size()));
  for (const std::string& name : message.names) PutText(writer, name, kMostClassNameBytes);
  return std::move(writer).Take();
}

absl::StatusOr<Classes> ClassesFromBytes(std::span<const uint8_t> bytes) {
  WireReader reader(bytes, "classes");
  Classes message;
  message.outputs = reader.Number<uint32_t>();
  const uint32_t count = reader.Number<uint32_t>();
  if (count > kMostClasses || 2 * size_t{count} > bytes.size()) {
    return DataLoss("classes: ", count, " names in ", bytes.size(), " bytes, at most ",
                    kMostClasses, " are allowed");
  }
  for (uint32_t i = 0; i < count; ++i) message.names.push_back(Text(reader));
  DTNN_RETURN_IF_ERROR(reader.Done());
  DTNN_RETURN_IF_ERROR(WithContext(CheckClasses(message), "classes"));
  return message;
}

Bytes ToBytes(const Welcome& message) {
  WireWriter writer;
  writer.Bytes(message.nonce);
  writer.Number(message.alive_ms);
  return std::move(writer).Take();
}

absl::StatusOr<Welcome> WelcomeFromBytes(std::span<const uint8_t> bytes) {
  WireReader reader(bytes, "welcome");
  Welcome message;
  message.nonce = Array<sizeof(RunNonce)>(reader);
  message.alive_ms = reader.Number<uint32_t>();
  DTNN_RETURN_IF_ERROR(reader.Done());
  return message;
}

Bytes ToBytes(const RoundStart& message) {
  WireWriter writer;
  writer.Number(uint8_t(message.over));
  writer.Number(uint64_t(message.round));
  writer.Number(uint64_t(message.rounds));
  writer.Number(message.position);
  writer.Number(uint32_t(message.samples.size()));
  for (const int64_t samples : message.samples) writer.Number(uint64_t(samples));
  writer.Number(uint8_t(message.weighting));
  writer.Number(message.quorum);
  PutReal(writer, message.proximal);
  PutReal(writer, message.deadline);
  writer.Number(uint8_t(message.parameters.encrypted));
  writer.Number(message.parameters.attempt);
  writer.Bytes(message.parameters.nonce);
  writer.Number(message.parameters.clients);
  PutReal(writer, message.parameters.divisor);
  writer.Number(uint32_t(message.steps.size()));
  for (const int64_t steps : message.steps) writer.Number(uint64_t(steps));
  writer.Number(uint32_t(message.clients.size()));
  for (const int64_t clients : message.clients) writer.Number(uint64_t(clients));
  writer.Number(uint8_t(message.difference));
  writer.Number(uint8_t(message.control));
  PutReal(writer, message.clip);
  writer.Number(uint8_t(message.compression.kind));
  PutReal(writer, message.compression.fraction);
  return std::move(writer).Take();
}

absl::StatusOr<RoundStart> RoundStartFromBytes(std::span<const uint8_t> bytes) {
  WireReader reader(bytes, "round");
  RoundStart message;
  const uint8_t over = reader.Number<uint8_t>();
  const uint64_t round = reader.Number<uint64_t>(), rounds = reader.Number<uint64_t>();
  message.position = reader.Number<uint32_t>();
  const uint32_t participants = reader.Number<uint32_t>();
  if (participants > uint32_t(kMostParticipants)) {
    return DataLoss("round: ", participants, " clients, at most ", kMostParticipants,
                    " are allowed");
  }
  bool good = true;
  for (uint32_t i = 0; i < participants; ++i) {
    const uint64_t samples = reader.Number<uint64_t>();
    good = good && samples >= 1 && samples <= uint64_t(kMostSamples);
    message.samples.push_back(int64_t(samples));
  }
  const uint8_t weighting = reader.Number<uint8_t>();
  message.quorum = reader.Number<uint32_t>();
  message.proximal = Real(reader);
  message.deadline = Real(reader);
  const uint8_t encrypted = reader.Number<uint8_t>();
  message.parameters.attempt = reader.Number<uint64_t>();
  message.parameters.nonce = Array<sizeof(RunNonce)>(reader);
  message.parameters.clients = reader.Number<uint32_t>();
  message.parameters.divisor = Real(reader);
  const uint32_t with_steps = reader.Number<uint32_t>();
  good = good && (with_steps == 0 || with_steps == participants);
  for (uint32_t i = 0; good && i < with_steps; ++i) {
    const uint64_t steps = reader.Number<uint64_t>();
    good = steps >= 1 && steps <= uint64_t(kMostSteps);
    message.steps.push_back(int64_t(steps));
  }
  const uint32_t with_clients = good ? reader.Number<uint32_t>() : 0;
  good = good && (with_clients == 0 || with_clients == participants);
  for (uint32_t i = 0; good && i < with_clients; ++i) {
    const uint64_t clients = reader.Number<uint64_t>();
    good = clients >= 1 && clients <= uint64_t(kMostGroup);
    message.clients.push_back(int64_t(clients));
  }
  if (!good) return DataLoss("round: samples, steps or clients that no aggregator sends");
  const uint8_t difference = reader.Number<uint8_t>(), control = reader.Number<uint8_t>();
  message.clip = Real(reader);
  message.compression.kind = CompressionKind(reader.Number<uint8_t>());
  message.compression.fraction = Real(reader);
  DTNN_RETURN_IF_ERROR(reader.Done());
  constexpr uint64_t kMostRounds = uint64_t{1} << 40;
  constexpr uint32_t kMostClients = 1 << 16;
  good = good && over <= 1 && encrypted <= 1 && difference + control <= 1 &&
         rounds <= kMostRounds && round <= rounds &&
         weighting <= uint8_t(RankWeighting::kInverseSamples) &&
         (over == 1 || message.position < participants) &&
         (over == 1 || (message.quorum >= 1 && message.quorum <= participants)) &&
         In(message.proximal, 0, 1e38) && In(message.deadline, 0, 1e12) &&
         message.parameters.clients <= kMostClients && In(message.parameters.divisor, 1e-9, 1e9) &&
         In(message.clip, 0, 1e15) && IsValid(message.compression) &&
         (!message.compression.on() || difference == 1);
  if (!good) return DataLoss("round: numbers that no aggregator sends");
  message.over = over == 1;
  message.weighting = RankWeighting(weighting);
  message.round = int64_t(round);
  message.rounds = int64_t(rounds);
  message.parameters.encrypted = encrypted == 1;
  message.difference = difference == 1;
  message.control = control == 1;
  return message;
}

absl::StatusOr<Hash> HashOfRound(RoundStart start, const RunNonce& nonce, uint64_t attempt,
                                 std::span<const Bytes> parameters) {
  start.position = 0;
  WireWriter writer;
  writer.Bytes(AsBytes("DTNN federation: a round"));
  writer.Bytes(nonce);
  writer.Number(attempt);
  writer.Bytes(ToBytes(start));
  DTNN_ASSIGN_OR_RETURN(Hash hash, Sha256({writer.bytes()}));
  for (const Bytes& chunk : parameters) {
    DTNN_ASSIGN_OR_RETURN(hash, Sha256({hash, chunk}));
  }
  return hash;
}

Bytes ToBytes(const Report& message) {
  WireWriter writer;
  writer.Number(uint64_t(message.samples));
  PutReal(writer, message.seconds);
  const size_t count = std::min(message.metrics.size(), kMostMetrics);
  writer.Number(uint16_t(count));
  for (size_t i = 0; i < count; ++i) {
    PutText(writer, message.metrics[i].first, kMostNameBytes);
    PutReal(writer, message.metrics[i].second);
  }
  writer.Number(uint64_t(message.clients));
  return std::move(writer).Take();
}

absl::StatusOr<Report> ReportFromBytes(std::span<const uint8_t> bytes) {
  WireReader reader(bytes, "report");
  Report message;
  const uint64_t samples = reader.Number<uint64_t>();
  message.seconds = Real(reader);
  const uint16_t count = reader.Number<uint16_t>();
  if (count > kMostMetrics) {
    return DataLoss("report: ", count, " metrics, at most ", kMostMetrics, " are allowed");
  }
  for (size_t i = 0; i < count; ++i) {
    std::string name = Text(reader);
    message.metrics.emplace_back(std::move(name), Real(reader));
  }
  const uint64_t clients = reader.Number<uint64_t>();
  DTNN_RETURN_IF_ERROR(reader.Done());
  if (samples < 1 || samples > uint64_t(kMostSamples)) {
    return DataLoss("report: ", samples, " samples; expected 1 to ", kMostSamples);
  }
  if (clients > uint64_t(kMostGroup)) {
    return DataLoss("report: of ", clients, " clients; expected ", kMostGroup, " at most");
  }
  message.samples = int64_t(samples);
  message.clients = int64_t(clients);
  if (!In(message.seconds, 0, 1e12)) return DataLoss("report: took ", message.seconds, " seconds");
  std::set<std::string_view> names;
  for (const auto& [name, value] : message.metrics) {
    if (!IsName(name)) return DataLoss("report: a metric called ", Quoted(name));
    if (!names.insert(name).second) return DataLoss("report: ", name, " comes twice");
    if (!std::isfinite(value)) return DataLoss("report: ", name, " is ", value);
  }
  return message;
}

Bytes ToBytes(const Verdict& message) {
  WireWriter writer;
  writer.Number(uint8_t(message.accepted));
  PutText(writer, message.text, kMostTextBytes);
  return std::move(writer).Take();
}

absl::StatusOr<Verdict> VerdictFromBytes(std::span<const uint8_t> bytes) {
  WireReader reader(bytes, "verdict");
  Verdict message;
  message.accepted = reader.Number<uint8_t>() == 1;
  message.text = Readable(Text(reader));
  DTNN_RETURN_IF_ERROR(reader.Done());
  return message;
}

Bytes TextToBytes(std::string_view text) {
  const std::span<const uint8_t> bytes = AsBytes(text.substr(0, kMostTextBytes));
  return Bytes(bytes.begin(), bytes.end());
}

std::string TextFromBytes(std::span<const uint8_t> bytes) { return Readable(AsText(bytes)); }

Bytes ListToBytes(std::span<const Bytes> list) {
  WireWriter writer;
  writer.Number(uint32_t(list.size()));
  for (const Bytes& bytes : list) {
    writer.Number(uint32_t(bytes.size()));
    writer.Bytes(bytes);
  }
  return std::move(writer).Take();
}

absl::StatusOr<std::vector<Bytes>> ListFromBytes(std::span<const uint8_t> bytes, size_t most) {
  WireReader reader(bytes, "list");
  const uint32_t count = reader.Number<uint32_t>();
  if (count > most) return DataLoss("list: ", count, " entries, at most ", most, " are allowed");
  std::vector<Bytes> list;
  for (uint32_t i = 0; i < count; ++i) {
    const std::span<const uint8_t> entry = reader.Bytes(reader.Number<uint32_t>());
    list.emplace_back(entry.begin(), entry.end());
  }
  DTNN_RETURN_IF_ERROR(reader.Done());
  return list;
}

}  // namespace dtnn::federation
