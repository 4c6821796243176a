#include "comm/ranks/group/group_communicator.h"

#include <optional>
#include <utility>

#include "tensor/errors.h"

namespace dtnn {
namespace {

class GroupWork : public Work {
 public:
  GroupWork(GroupEngine& engine, std::shared_ptr<Group> group, std::shared_ptr<Operation> operation)
      : engine_(engine), group_(std::move(group)), operation_(std::move(operation)) {}
  ~GroupWork() override { (void)Wait(); }

  absl::Status Wait() override {
    if (operation_ != nullptr) {
      status_ = engine_.Await(*group_, *operation_);
      operation_ = nullptr;
    }
    return status_;
  }

 private:
  GroupEngine& engine_;
  std::shared_ptr<Group> group_;
  std::shared_ptr<Operation> operation_;
  absl::Status status_;
};

class GroupCommunicator : public Communicator {
 public:
  GroupCommunicator(GroupEngine& engine, std::shared_ptr<Group> group)
      : Communicator(engine.place(), group->options()), engine_(engine), group_(std::move(group)) {}
  ~GroupCommunicator() override { engine_.Leave(group_); }

  void Abort(const absl::Status& why) override {
    engine_.GiveUp(*group_,
                   absl::Status(why.code(), StrCat("rank ", rank(), " gave up: ", why.message())));
  }
  std::vector<int> lost() const override { return engine_.Lost(*group_); }
  void set_departure_code(int32_t code) override { engine_.SetDepartureCode(*group_, code); }
  std::optional<int32_t> AwaitDeparture(int other, Timeout timeout) override {
    if (other < 0 || other >= size() || other == rank()) return std::nullopt;
    return engine_.AwaitDeparture(*group_, other, timeout.value_or(options().timeout));
  }

 protected:
  std::unique_ptr<Work> Start(const Collective& call) override {
    return std::make_unique<GroupWork>(engine_, group_, engine_.Start(group_, call));
  }

 private:
  GroupEngine& engine_;
  const std::shared_ptr<Group> group_;
};

}  // namespace

std::unique_ptr<Communicator> MakeGroupCommunicator(GroupEngine& engine,
                                                    std::shared_ptr<Group> group) {
  return std::make_unique<GroupCommunicator>(engine, std::move(group));
}

}  // namespace dtnn
