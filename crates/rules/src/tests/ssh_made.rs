//! Signatures that OpenSSH 9.2 made of one text, with a key of each kind.

pub(crate) const TEXT: &str = "aof-completion: 1\nsummary: \"done\"\n";

/// Keys, and their signatures.
pub(crate) const MADE: &[(&str, &str)] = &[
    (
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDrGwTXlPu6BCAs/WbjSjtwBTL/ZF3EAOFL3allUTOAO",
        concat!(
            "U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgOsbBNeU+7oEICz9ZuNKO3AFMv9kXcQA4UvdqWVRM4A4AAA",
            "ADYW9mAAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5AAAAQJmJVO2c1A7NTGt+m73OUkfmqQsj58Lb71Pi",
            "DpVMCK6aC7B0D39pBaJAD2xtQiWfqFjyDHgIjnzoSDepcDnp/QI=",
        ),
    ),
    (
        concat!(
            "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBPY4e85co+VPyZw3/c",
            "Q6gycqDFc2xeLcpzhwLTcywfYlFwWfd1CY1ICWtqZ4nHNeUigdSbbUeGtYgMO/XuTraEs=",
        ),
        concat!(
            "U1NIU0lHAAAAAQAAAGgAAAATZWNkc2Etc2hhMi1uaXN0cDI1NgAAAAhuaXN0cDI1NgAAAEEE9jh7zlyj5U/JnDf9xD",
            "qDJyoMVzbF4tynOHAtNzLB9iUXBZ93UJjUgJa2pnicc15SKB1JttR4a1iAw79e5OtoSwAAAANhb2YAAAAAAAAABnNo",
            "YTUxMgAAAGQAAAATZWNkc2Etc2hhMi1uaXN0cDI1NgAAAEkAAAAhANz51QXZ+BLGGXEZESl4Nza2eS+mmL0T06fg7r",
            "V4cv2bAAAAIHIRhx6dzYaNQe+E5cZMVIH2GTZwaQ3FnEocs36KSiHt",
        ),
    ),
    (
        concat!(
            "ecdsa-sha2-nistp384 AAAAE2VjZHNhLXNoYTItbmlzdHAzODQAAAAIbmlzdHAzODQAAABhBPPWs/dEPMtx4db8PM",
            "L2vJ1o8bQ62El5l1zajTA9Gj3JHpXl7EaeZiHWNzlyFXAbj8SNV5KFAQqDaAxMMP2zTC1yAE1w9WY7ANhUcAHriUSF",
            "0PuxCryCYl6Er0tRsezr3A==",
        ),
        concat!(
            "U1NIU0lHAAAAAQAAAIgAAAATZWNkc2Etc2hhMi1uaXN0cDM4NAAAAAhuaXN0cDM4NAAAAGEE89az90Q8y3Hh1vw8wv",
            "a8nWjxtDrYSXmXXNqNMD0aPckeleXsRp5mIdY3OXIVcBuPxI1XkoUBCoNoDEww/bNMLXIATXD1ZjsA2FRwAeuJRIXQ",
            "+7EKvIJiXoSvS1Gx7OvcAAAAA2FvZgAAAAAAAAAGc2hhNTEyAAAAhAAAABNlY2RzYS1zaGEyLW5pc3RwMzg0AAAAaQ",
            "AAADEAwNcUCfH6r46qKFu227euxP63tO1D5FS2Sd7zi4XK8y6HR8C1i2jrguIh1nurS0DSAAAAMDEUBGu/8DlrHTB3",
            "O43vvTqXmfGjeX6GrMjIvptYapjd9rcZzuFnmfAYK/Poj3GVXQ==",
        ),
    ),
    (
        concat!(
            "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQDbdcMk1vTMQXbWoPyaDzJ2Gnc9qOWAaFbQCWFUY2g03B1XVPVTvF",
            "TBe4IDMf5mNUP+r5/86/pBJ2Q4O3oj8Fzv2VMVNaYF9VWoOQsbRp82xXELL6YP9fkGsynDqELw7SxuuxTs9PE9wCSk",
            "dyVPlGOV+ouyjwWj06wlq1RDW9yttDINPJhLw7Nkzs9pvZNK3z0ZyExpKBNDUmH21PJUjaTndMjmU7OVB42Ix74fN9",
            "Ob82KzKaWDB/5bZ3572Jb6ci1vxVVTY2sBBS/lXKr6q8zPi4A2/Ym080EC4R33wyNNC4hG5CL0Kk08mhDNL35YluHF",
            "PQtizTxER0n5Ms3dA1FF",
        ),
        concat!(
            "U1NIU0lHAAAAAQAAARcAAAAHc3NoLXJzYQAAAAMBAAEAAAEBANt1wyTW9MxBdtag/JoPMnYadz2o5YBoVtAJYVRjaD",
            "TcHVdU9VO8VMF7ggMx/mY1Q/6vn/zr+kEnZDg7eiPwXO/ZUxU1pgX1Vag5CxtGnzbFcQsvpg/1+QazKcOoQvDtLG67",
            "FOz08T3AJKR3JU+UY5X6i7KPBaPTrCWrVENb3K20Mg08mEvDs2TOz2m9k0rfPRnITGkoE0NSYfbU8lSNpOd0yOZTs5",
            "UHjYjHvh8305vzYrMppYMH/ltnfnvYlvpyLW/FVVNjawEFL+VcqvqrzM+LgDb9ibTzQQLhHffDI00LiEbkIvQqTTya",
            "EM0vfliW4cU9C2LNPERHSfkyzd0DUUUAAAADYW9mAAAAAAAAAAZzaGE1MTIAAAEUAAAADHJzYS1zaGEyLTUxMgAAAQ",
            "AWogsU5khDi02mDW/0z4zadMYh1dFZB4i39yx7xY+enCNodKPBFpjPhRDfBE160sCG85otweCnqHrHxG0KmcdT/e2C",
            "xRFEBaGpN+z52CqiL5EXDwcwRWtgjToRUFI9OE3jDtKiFdKv2++W9FNwEeclLY+DkCaHEUvOO+4quW9/44DJjU97IS",
            "6ZFsL+1/uN3Pvku5hxHB9zl3PzUsHehHHJivG6j2oSiEC6tgXaL1j/EOLCqx069ivp/6YBOSn9aK6rLnzdneVEf13s",
            "ptE01gMg/wNuxB5RkIjDrhd3iXy0GU77Bx0I6qn5VBjWBzIWGRU913KAzXLvLJtrdHgn4+fR",
        ),
    ),
    (
        concat!(
            "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQDLCGWn5UvpLU754cIKqV/CDqW9m/ciLf/ecjQLMa2mypSO0pJFY4",
            "BMw39HT5TxMiwzzan7allqS/ozohNu1WGRr4c+XiHYhva5oOD9WXiuJWkHiQpRoZBg4CXXitH2onMXUii8Gqplqf8O",
            "muyaZLokCy9Z4RCLTP6BkE23npKr4z8BELdI2vh42N1o82W09RQAQPTzaKX4esvx8O+s2oWLtKNQftBFFB3wTmJMZ9",
            "w0Taam2wihH2YjdXjezsphMeKIxj3SOauaHjkHMvBIecmcO3QF/ibYC1npgRCHu2ONF+GfCfue+nqmjac//3DWHp9V",
            "O9jKYgg4TUqqid6/A7ZBrWflESgFp8jZfrSDAZrKyH2HpMNrbH1wxuL6aTndR6TbF/Y9cpEg9GYT+JYtIHWrqgGlhl",
            "oLbnp2HMlQSK99HIMuF6vkTPE22BG2jKQUnwyllAelQcv7YZBGJbZH2NZ4oMIqmQ5xVQmq/ov1/nfvciKBP5mw3TyC",
            "R0eRfegpXuc=",
        ),
        concat!(
            "U1NIU0lHAAAAAQAAAZcAAAAHc3NoLXJzYQAAAAMBAAEAAAGBAMsIZaflS+ktTvnhwgqpX8IOpb2b9yIt/95yNAsxra",
            "bKlI7SkkVjgEzDf0dPlPEyLDPNqftqWWpL+jOiE27VYZGvhz5eIdiG9rmg4P1ZeK4laQeJClGhkGDgJdeK0faicxdS",
            "KLwaqmWp/w6a7JpkuiQLL1nhEItM/oGQTbeekqvjPwEQt0ja+HjY3WjzZbT1FABA9PNopfh6y/Hw76zahYu0o1B+0E",
            "UUHfBOYkxn3DRNpqbbCKEfZiN1eN7OymEx4ojGPdI5q5oeOQcy8Eh5yZw7dAX+JtgLWemBEIe7Y40X4Z8J+576eqaN",
            "pz//cNYen1U72MpiCDhNSqqJ3r8DtkGtZ+URKAWnyNl+tIMBmsrIfYekw2tsfXDG4vppOd1HpNsX9j1ykSD0ZhP4li",
            "0gdauqAaWGWgtuenYcyVBIr30cgy4Xq+RM8TbYEbaMpBSfDKWUB6VBy/thkEYltkfY1nigwiqZDnFVCar+i/X+d+9y",
            "IoE/mbDdPIJHR5F96Cle5wAAAANhb2YAAAAAAAAABnNoYTUxMgAAAZQAAAAMcnNhLXNoYTItNTEyAAABgEk8tuIvG9",
            "got3NbEBhyxYuWlMIYSH5VuaBX7g5SQ0ZkdsUrm8dDVSevlkJ24OrDE3i1sh+gTr9zb7s+k6NdBtG+D06y4krWNrep",
            "HFyVBo8pbEjC6ZiHpUam6tuIfN2/vemxd8ACxT7VbciErN1ZUOMMUQ4Guop4cSBORtIvPmyz6BipQiOF5LQnuIu+Xs",
            "s9hD0r51aRZKJePCk7T6Q9lyQGfp8HxA4laNL3rKKmCSaBQK+n5DtA/TbH4YrHdWokD8Dp6pz1nNxGOjciSTj3bXYg",
            "DBAWzHwvRUODF5GOL0H1TwxSH4JCRppiI+jdn9JJpDoQigVEQEKjvev3xZmhHN7BD/Wv/lPgV3UlvFDhFOY45GPH1d",
            "vc7yUeg5HfQAHn2Bn5aDSN1rJpHPCFBewC/MbnpwHzP3Ik0Uf7BgQ9a3aBah3boMfr70mtmhI8NMSzPzDK+6H6FRMw",
            "Vz5M3jSuZvu8qBzyVROHtEc9iAC/AjFVHeJju5I0LpiD6RbC2KoenQ==",
        ),
    ),
];
