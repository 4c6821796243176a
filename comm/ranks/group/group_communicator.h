// A Communicator over a GroupEngine: what a transport's process gives out.

#ifndef DTNN_COMM_RANKS_GROUP_GROUP_COMMUNICATOR_H_
#define DTNN_COMM_RANKS_GROUP_GROUP_COMMUNICATOR_H_

#include <memory>

#include "comm/communicator.h"
#include "comm/ranks/group/group.h"
#include "comm/ranks/group/group_engine.h"

namespace dtnn {

// The engine outlives it.
std::unique_ptr<Communicator> MakeGroupCommunicator(GroupEngine& engine,
                                                    std::shared_ptr<Group> group);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_GROUP_GROUP_COMMUNICATOR_H_
