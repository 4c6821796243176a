#include "comm/secrets/masked/enough_neighbours.h"

#include <algorithm>

namespace dtnn::masked {
namespace {

constexpr double kSecrecy = 0x1p-41, kSuccess = 0x1p-20;

int Helpers(int clients) { return clients / 4; }
int DropOuts(int clients) { return clients * 3 / 10; }

// That the clients who stay, and do not help the server, fall into two parts: two runs of k / 2
// others, somewhere on the circle on which each is next to its neighbours.
double ChanceOfParts(int clients, int neighbours) {
  const int others = Helpers(clients) + DropOuts(clients);
  double chance = 0.5 * clients * clients;
  for (int i = 0; i < neighbours; ++i) {
    chance *= double(std::max(0, others - i)) / (clients - i);
  }
  return chance;
}

bool AreEnough(int clients, int neighbours) {
  const int threshold = ThresholdOf(neighbours), all = clients - 1;
  // One that has dropped out does not give its own share.
  const int may_drop = neighbours - threshold;
  return may_drop >= 0 &&
         clients * HypergeometricTail(all, Helpers(clients), neighbours, threshold) <= kSecrecy &&
         ChanceOfParts(clients, neighbours) <= kSecrecy &&
         clients * HypergeometricTail(all, DropOuts(clients), neighbours, may_drop + 1) <= kSuccess;
}

}  // namespace

// Adds the terms from the rarest on. Each follows from the one before by a ratio of integers; the
// first is a product of fractions, none of which is larger than 1.
double HypergeometricTail(int all, int marked, int drawn, int least) {
  const int most = std::min(marked, drawn), from = std::max({least, 0, marked + drawn - all});
  if (from > most) return 0;
  // C(marked, most) C(all - marked, drawn - most) / C(all, drawn), for most = marked or drawn.
  double term = 1;
  const int few = most, many = std::max(marked, drawn);
  for (int i = 0; i < few; ++i) term *= double(many - i) / (all - i);
  double sum = 0;
  for (int x = most; x >= from; --x) {
    sum += term;
    // P(x - 1) / P(x)
    term *= double(x) * (all - marked - drawn + x) / (double(marked - x + 1) * (drawn - x + 1));
  }
  return sum;
}

int EnoughNeighbours(int clients) {
  for (int neighbours = 4; neighbours < clients - 1; neighbours += 2) {
    if (AreEnough(clients, neighbours)) return neighbours;
  }
  return clients - 1;
}

}  // namespace dtnn::masked
