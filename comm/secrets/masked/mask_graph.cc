#include "comm/secrets/masked/mask_graph.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "comm/secrets/crypto/chacha20_stream.h"
#include "comm/wire/wire.h"
#include "tensor/errors.h"

namespace dtnn::masked {
namespace {

absl::StatusOr<Hash> SeedOf(const MaskedParameters& parameters,
                            std::span<const Advertisement> advertised, const Hash& drawn) {
  std::map<int, const Advertisement*> by_client;
  for (const Advertisement& advertisement : advertised) {
    by_client.emplace(advertisement.client, &advertisement);
  }
  WireWriter writer;
  writer.Bytes(AsBytes("DTNN neighbours"));
  writer.Number(parameters.round);
  writer.Number(uint32_t(parameters.clients));
  writer.Number(uint32_t(parameters.neighbours));
  writer.Bytes(drawn);
  for (const auto& [client, advertisement] : by_client) writer.Bytes(ToBytes(*advertisement));
  return Sha256({writer.bytes()});
}

// Below `bound`, each with the same probability.
uint32_t Below(ChaCha20Stream& random, uint32_t bound) {
  const uint64_t whole = (uint64_t{1} << 32) / bound * bound;
  while (true) {
    uint8_t bytes[4];
    random.Fill(bytes);
    const uint32_t word = LoadLittleEndian<uint32_t>(bytes);
    if (word < whole) return word % bound;
  }
}

}  // namespace

absl::StatusOr<MaskGraph> MaskGraph::Draw(const MaskedParameters& parameters,
                                          std::span<const Advertisement> advertised,
                                          const Hash& drawn) {
  if (parameters.complete()) return MaskGraph(parameters.clients, 0);
  MaskGraph graph(parameters.clients, parameters.neighbours / 2);
  DTNN_ASSIGN_OR_RETURN(const Hash seed, SeedOf(parameters, advertised, drawn));
  DTNN_ASSIGN_OR_RETURN(ChaCha20Stream random, ChaCha20Stream::Create(seed));
  graph.order_.resize(size_t(parameters.clients));
  std::iota(graph.order_.begin(), graph.order_.end(), 0);
  for (size_t left = graph.order_.size(); left > 1; --left) {
    std::swap(graph.order_[left - 1], graph.order_[Below(random, uint32_t(left))]);
  }
  graph.place_.resize(graph.order_.size());
  for (size_t i = 0; i < graph.order_.size(); ++i) graph.place_[size_t(graph.order_[i])] = int(i);
  return graph;
}

int MaskGraph::Way(int from, int to) const {
  const int way = place_[size_t(to)] - place_[size_t(from)];
  return way < 0 ? way + clients_ : way;
}

std::vector<int> MaskGraph::Around(int client) const {
  std::vector<int> around;
  if (reach_ == 0) {
    around.resize(size_t(clients_));
    std::iota(around.begin(), around.end(), 0);
    return around;
  }
  const int from = place_[size_t(client)] - reach_ + clients_;
  for (int i = 0; i <= 2 * reach_; ++i) {
    around.push_back(order_[size_t((from + i) % clients_)]);
  }
  return around;
}

bool MaskGraph::AreNeighbours(int one, int other) const {
  if (one == other) return false;
  return reach_ == 0 || std::min(Way(one, other), Way(other, one)) <= reach_;
}

int MaskGraph::ShareIndex(int of, int holder) const {
  if (reach_ == 0) return holder;
  const int way = Way(of, holder);
  return way <= reach_ ? reach_ + way : reach_ + way - clients_;
}

int MaskGraph::HolderOf(int of, int index) const {
  if (reach_ == 0) return index;
  return order_[size_t((place_[size_t(of)] + index - reach_ + clients_) % clients_)];
}

int MaskGraph::CountAround(int client, const std::set<int>& clients) const {
  if (reach_ == 0) return int(clients.size());
  return int(std::ranges::count_if(Around(client), [&](int c) { return clients.contains(c); }));
}

// Those that are next to each other on the circle are neighbours, but where there is a gap; one gap
// leaves a line.
bool MaskGraph::AreConnected(const std::set<int>& clients) const {
  if (reach_ == 0) return true;
  std::vector<int> places;
  for (const int client : clients) places.push_back(place_[size_t(client)]);
  std::ranges::sort(places);
  int gaps = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    const bool last = i + 1 == places.size();
    const int next = last ? places[0] + clients_ : places[i + 1];
    gaps += next - places[i] > reach_ ? 1 : 0;
  }
  return gaps <= 1;
}

}  // namespace dtnn::masked
