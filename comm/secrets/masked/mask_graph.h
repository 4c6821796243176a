// The neighbours of each client of a masked sum, with which it shares masks and secrets.
//
// Clients stand on a circle in a random order; neighbours are those at most half the number of
// neighbours away (a Harary graph). The order follows from the hash of all advertisements, which
// every client sees, and of bytes that the server draws when no more of them are taken: a client
// that sees the others' keys before it sends its own cannot choose the order by its own. All others
// are neighbours where the parameters say no number.

#ifndef DTNN_COMM_SECRETS_MASKED_MASK_GRAPH_H_
#define DTNN_COMM_SECRETS_MASKED_MASK_GRAPH_H_

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/secrets/masked/masked_parameters.h"

namespace dtnn::masked {

class MaskGraph {
 public:
  // The same for all who have the same advertisements, in any order. Of all clients, also of those
  // that have not advertised. `parameters`: valid.
  static absl::StatusOr<MaskGraph> Draw(const MaskedParameters& parameters,
                                        std::span<const Advertisement> advertised,
                                        const Hash& drawn);

  // The client itself, and its neighbours.
  std::vector<int> Around(int client) const;
  bool AreNeighbours(int one, int other) const;
  // Which of the shares of a secret of `of` is that of `holder`, which is it or a neighbour.
  int ShareIndex(int of, int holder) const;
  // Whose share that is.
  int HolderOf(int of, int index) const;
  // How many of those around the client are among `clients`.
  int CountAround(int client, const std::set<int>& clients) const;
  // Whether each of these clients can be reached from each other one, from neighbour to neighbour
  // among them.
  bool AreConnected(const std::set<int>& clients) const;

 private:
  MaskGraph(int clients, int reach) : clients_(clients), reach_(reach) {}
  // Places from the first client to the other, clockwise.
  int Way(int from, int to) const;

  int clients_;
  int reach_;               // 0: all others are neighbours
  std::vector<int> order_;  // by place, clients
  std::vector<int> place_;  // by client
};

}  // namespace dtnn::masked

#endif  // DTNN_COMM_SECRETS_MASKED_MASK_GRAPH_H_
