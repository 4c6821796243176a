// Rank and number of processes, from the environment that the program which started them (mpirun,
// srun) has set: known before MPI is initialised, and without MPI.

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

// Reads Open MPI's variables, else those of PMI (MPICH, Slurm) or PMIx. Invalid numbers count as
// unset. `get` answers like getenv(), which is the default.
LaunchPlace FindLaunchPlace(const std::function<const char*(const char*)>& get = nullptr);

// If Slurm's srun has started several processes without PMI or PMIx, so that they cannot find each
// other and each would be alone: this one's place among them. Otherwise, as for a single process.
// The process of a batch script itself does not count.
LaunchPlace FindUnconnectedPlace(const std::function<const char*(const char*)>& get = nullptr);

}  // namespace dtnn

#endif  // DTNN_COMM_LAUNCH_PLACE_H_
