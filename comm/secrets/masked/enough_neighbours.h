// How many neighbours each client of a masked sum needs, and how many of their shares.
//
// Neighbours are drawn at random (mask_graph.h), so of k of them the number that belong to any
// group of clients is hypergeometric. Counted are those who work together with the server, a
// quarter of all clients at most, and those who drop out, three tenths at most. Both groups are
// those that would be the same in any other order: nothing is said where somebody sees the order
// and then chooses the clients that drop out, by delaying them. Of a sum of n clients these fail,
// with a probability of at most
//   2^-41  secrecy: no client has so many neighbours in the first group that their shares unmask it
//   2^-41  secrecy: the others who stay are connected, so that only the sum of all can be read
//   2^-20  success: no client loses so many neighbours that its mask cannot be removed
// each by a union bound over all clients (Bell, Bonawitz, Gascon, Lepoint, Raykova, "Secure
// single-server aggregation with (poly)logarithmic overhead", 2020). The threshold is
// more than half of the shares, by one more than suffices for one secret: masked_client.h needs it
// against a server that does not follow the protocol.

#ifndef DTNN_COMM_SECRETS_MASKED_ENOUGH_NEIGHBOURS_H_
#define DTNN_COMM_SECRETS_MASKED_ENOUGH_NEIGHBOURS_H_

namespace dtnn::masked {

// The shares that rebuild a secret of a client with so many neighbours, an even number; it keeps a
// share itself.
constexpr int ThresholdOf(int neighbours) { return neighbours / 2 + 2; }

// The least even number for `clients`; clients - 1, all others, where no smaller one is enough.
int EnoughNeighbours(int clients);

// The chance that of `drawn` things, drawn from `all` of which `marked` are marked, at least
// `least` are marked. 0 <= marked, drawn <= all. Relative error below 1e-9.
double HypergeometricTail(int all, int marked, int drawn, int least);

}  // namespace dtnn::masked

#endif  // DTNN_COMM_SECRETS_MASKED_ENOUGH_NEIGHBOURS_H_
