#include "comm/transport/tcp/testing/rank_processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "comm/launch_place.h"
#include "comm/ranks/exchange/exchange_process.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/mesh.h"
#include "comm/transport/tcp/rendezvous.h"
#include "comm/transport/tcp/socket.h"
#include "tensor/errors.h"
#include "tensor/must.h"

namespace dtnn::testing {
namespace {

void Set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

}  // namespace

RankProcesses::RankProcesses(int ranks, const std::vector<std::string>& arguments) {
  const Socket listener = Must(Listen({.host = kDefaultAddress, .port = 0}));
  Set(kPortVariable, std::to_string(Must(listener.Local()).port));
  Set(kSecretVariable, Must(JobSecret::NewText()));
  Set(kListenerVariable, std::to_string(listener.descriptor()));
  Set(kSizeVariable, std::to_string(ranks));
  std::vector<std::string> words = {"/proc/self/exe"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  for (int rank = 0; rank < ranks; ++rank) {
    Set(kRankVariable, std::to_string(rank));
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (rank == 0) fcntl(listener.descriptor(), F_SETFD, 0);
      execv("/proc/self/exe", pointers.data());
      _exit(127);
    }
    pids_.push_back(pid);
  }
  unsetenv(kRankVariable);
}

RankProcesses::~RankProcesses() {
  for (size_t rank = 0; rank < pids_.size(); ++rank) {
    if (pids_[rank] < 0) continue;
    Signal(int(rank), SIGKILL);
    Wait(int(rank));
  }
}

void RankProcesses::Signal(int rank, int number) { kill(pids_[size_t(rank)], number); }

int RankProcesses::Wait(int rank) {
  int status = 0;
  waitpid(std::exchange(pids_[size_t(rank)], -1), &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool IsRankProcess() { return std::getenv(kRankVariable) != nullptr; }

JobEnvironment JobOfRank() { return Must(FindJob(FindLaunchPlace())); }

Join JoinByTcp(const StreamMaker& stream) {
  return [stream](const CommunicatorOptions& options) {
    JobEnvironment job = JobOfRank();
    job.rendezvous.stream = stream;
    job.rendezvous.share_memory = false;
    return StartTcpProcess(options, job.rendezvous, job.secret);
  };
}

Join JoinBySharedMemory() {
  return
      [](const CommunicatorOptions& options) -> absl::StatusOr<std::unique_ptr<ExchangeProcess>> {
        JobEnvironment job = JobOfRank();
        job.rendezvous.share_memory = true;
        DTNN_ASSIGN_OR_RETURN(Mesh mesh, Meet(job.rendezvous, job.secret, options));
        for (const Link& link : mesh.links) {
          if (link.stream != nullptr && link.stream->unpolled() == nullptr) {
            return Unavailable("the rank at ", link.address, " does not share memory");
          }
        }
        return std::make_unique<ExchangeProcess>(options, std::move(mesh));
      };
}

}  // namespace dtnn::testing
