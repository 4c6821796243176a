// Which process of how many this is, as the program that started it (mpirun, srun) says in the
// environment: known before MPI is, and without it.

#ifndef DTNN_COMM_LAUNCH_PLACE_H_
#define DTNN_COMM_LAUNCH_PLACE_H_

#include <functional>

namespace dtnn {

struct LaunchPlace {
  bool launched = false;  // by something that starts the processes of parallel programs
  int rank = 0;
  int ranks = 1;

  friend bool operator==(const LaunchPlace&, const LaunchPlace&) = default;
};

// Reads Open MPI's variables, else those of PMI (MPICH, Slurm) or PMIx. Numbers that make no sense
// count as unset. `get` answers like getenv(), which is the default.
LaunchPlace FindLaunchPlace(const std::function<const char*(const char*)>& get = nullptr);

// Where Slurm's srun has started several processes and given them no way to find each other (no
// PMI, no PMIx), so that each would be alone: this one's place among them. Otherwise like a program
// of its own. A batch script's own process is none of them.
LaunchPlace FindUnconnectedPlace(const std::function<const char*(const char*)>& get = nullptr);

}  // namespace dtnn

#endif  // DTNN_COMM_LAUNCH_PLACE_H_
