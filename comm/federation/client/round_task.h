// What a client gets for one round.

#ifndef DTNN_COMM_FEDERATION_CLIENT_ROUND_TASK_H_
#define DTNN_COMM_FEDERATION_CLIENT_ROUND_TASK_H_

#include <cstdint>
#include <vector>

namespace dtnn::federation {

struct RoundTask {
  bool over = false;
  int64_t round = 0, rounds = 0;  // from 1
  double proximal = 0;            // mu: add mu (parameters now - these) to gradients
  bool by_steps = false;          // weights are divided by updates: right for plain SGD alone
  std::vector<float> parameters = {};
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_CLIENT_ROUND_TASK_H_
