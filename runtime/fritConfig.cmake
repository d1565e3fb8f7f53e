# find_package(frit) gives frit::runtime and frit_add_model().
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/fritTargets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/FritAddModel.cmake)
